// The chat template of a model: a program in the template language Jinja that turns the messages of a chat into one
// text, the prompt. The result equals that of apply_chat_template in Transformers.
//
//   const ChatTemplate chat = HONE_TRY(ChatTemplate::parse(tokenizer.chat_template()));
//   const ChatText prompt = HONE_TRY(chat.render({{"messages", messages}, {"add_generation_prompt", true}}));
//
// Templates are downloaded with models, so they may be hostile. They can only read the given variables, and their steps
// and memory are limited.
#pragma once

#include <memory>

#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/core/json.h"
#include "learn/chat/chat_text.h"

namespace hone {

namespace chat {
struct Tree;
}

class ChatTemplate {
 public:
  // Parses a template. Errors: H2911 a syntax error, or a part of Jinja that hone does not support; the message names
  // the line. H2913 the template has more than 1 MiB, or its blocks or expressions are nested too deeply.
  static Result<ChatTemplate> parse(std::string_view source);

  // Runs the template. `variables` is an object with the variables that the template sees: messages, tools,
  // add_generation_prompt, bos_token and others. All other names are undefined. `clock` gives the time for templates
  // that print a date. Several threads may call render() at the same time. Errors: H2912 the template refuses the
  // messages (raise_exception) or fails on them; H2913 it needs more than `limits`.
  Result<ChatText> render(const OrderedJson& variables, const ChatLimits& limits = {},
                          const Clock& clock = system_clock()) const;

  // True if the template has a {% generation %} block, which marks the assistant's answers in the text.
  bool marks_answers() const { return marks_answers_; }
  // True if the template has a loop over the content of a message, so it accepts a content that is a list of parts.
  bool reads_parts() const { return reads_parts_; }
  // True if the source of the template contains these bytes.
  bool mentions(std::string_view text) const { return source_.find(text) != std::string::npos; }

 private:
  std::shared_ptr<const chat::Tree> tree_;  // shared by copies, never changed
  std::string source_;
  bool marks_answers_ = false, reads_parts_ = false;
};

// Prepares messages for a template as Transformers does. Leaves out keys whose value is null. The first value that is
// not null of the keys reasoning_content, thinking and reasoning becomes the value of both reasoning_content and
// thinking.
OrderedJson chat_messages(const OrderedJson& messages);

}  // namespace hone
