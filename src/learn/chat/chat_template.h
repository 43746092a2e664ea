// The chat template of a model: a program in the template language Jinja that makes one text of the
// messages of a chat. It renders what Transformers' apply_chat_template does.
//
//   const ChatTemplate chat = HONE_TRY(ChatTemplate::parse(tokenizer.chat_template()));
//   const ChatText prompt = HONE_TRY(chat.render({{"messages", messages}, {"add_generation_prompt", true}}));
//
// Templates come with models, so they may be hostile: they see only the variables, and their steps
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
  // H2911: hone cannot run the template; the error names the line. H2913: it has more than 1 MiB,
  // or is nested too deeply.
  static Result<ChatTemplate> parse(std::string_view source);

  // `variables` is an object: messages, tools, add_generation_prompt, bos_token and others. All
  // other names are undefined. Threads may call it at the same time.
  // H2912: the template refuses the messages (raise_exception), or fails on them. H2913: it needs
  // more than `limits`.
  Result<ChatText> render(const OrderedJson& variables, const ChatLimits& limits = {},
                          const Clock& clock = system_clock()) const;

  // Whether it has a {% generation %} block.
  bool marks_answers() const { return marks_answers_; }
  // Whether it has a loop over the parts of a message's content.
  bool reads_parts() const { return reads_parts_; }
  // Whether its source has these bytes somewhere.
  bool mentions(std::string_view text) const { return source_.find(text) != std::string::npos; }

 private:
  std::shared_ptr<const chat::Tree> tree_;  // shared by copies, never changed
  std::string source_;
  bool marks_answers_ = false, reads_parts_ = false;
};

// Messages as Transformers gives them to a template: keys whose value is null are left out, and the
// names of reasoning (reasoning_content, thinking, reasoning) fill each other.
OrderedJson chat_messages(const OrderedJson& messages);

}  // namespace hone
