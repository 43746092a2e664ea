// Answers of OpenAI's completions and chats: at once, or as pieces of a stream.
#pragma once

#include "operate/serve/openai/model_asked.h"
#include "operate/serve/openai/openai_logprobs.h"
#include "operate/serve/protocol/tool_calls.h"

namespace hone {

// A request until it is answered.
struct OpenaiAsked {
  bool chat = false;
  OpenaiSettings settings;
  ModelSet::Model model;  // whose tokenizer the answer needs
  std::string id, model_name;
  int64_t created = 0;
  std::set<std::string> tools;       // that the answer may call
  std::vector<std::string> prompts;  // of echo, by query
  Json given;                        // the body's settings by OpenAI's names

  const Tokenizer& tokenizer() const { return model->tokenizer(); }
  AnswerLogprobs new_logprobs() const {
    return {tokenizer(), chat ? AnswerLogprobs::Form::tokens : AnswerLogprobs::Form::lists};
  }
  WebAnswer failed(const Error& e) const { return openai_error(named_as_in(given, e)); }
};

// The text of an answer up to a stop text.
std::string cut_text(const StopCutter::Stops& stops, const std::string& text, bool& stopped);

OrderedJson usage_json(int64_t prompt, int64_t written);

// All answers of a request, one for each query.
std::string whole_answer(const OpenaiAsked& a, const std::vector<TextAnswer>& answers);

// Asks for one query and sends its pieces as server-sent events.
void stream_answer(const std::shared_ptr<WebReply>& reply,
                   const std::shared_ptr<OpenaiAsked>& asked, TextQuery query);

}  // namespace hone
