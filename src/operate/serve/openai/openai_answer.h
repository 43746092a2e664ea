// Answers of OpenAI's API for completions and chats, whole or as a stream of server-sent events.
#pragma once

#include "operate/serve/openai/model_asked.h"
#include "operate/serve/openai/openai_logprobs.h"
#include "operate/serve/protocol/tool_calls.h"

namespace hone {

// The facts of a request that its answer needs.
struct OpenaiAsked {
  bool chat = false;  // false: a completion
  OpenaiSettings settings;
  ModelSet::Model model;
  std::string id, model_name;        // members "id" and "model" of the answer
  int64_t created = 0;               // member "created" of the answer: seconds since 1970
  std::set<std::string> tools;       // names of the functions that the answer may call
  std::vector<std::string> prompts;  // with `echo`, the prompt of each query; else empty
  Json given;                        // the body's settings by OpenAI's names, for errors

  const Tokenizer& tokenizer() const { return model->tokenizer(); }
  AnswerLogprobs new_logprobs() const {
    return {tokenizer(), chat ? AnswerLogprobs::Form::tokens : AnswerLogprobs::Form::lists};
  }
  WebAnswer failed(const Error& e) const { return openai_error(named_as_in(given, e)); }
};

// Returns the part of `text` before the first stop text, and sets `stopped` to true; all of `text`, and false, if it
// has no stop text.
std::string cut_text(const StopCutter::Stops& stops, const std::string& text, bool& stopped);

// The object "usage" of an answer, for these numbers of prompt tokens and generated tokens.
OrderedJson usage_json(int64_t prompt, int64_t written);

// The body of a whole answer. `answers` has one element for each query of the request, in order.
std::string whole_answer(const OpenaiAsked& a, const std::vector<TextAnswer>& answers);

// Passes the query to the model, and returns at once. The pieces of the answer are sent as server-sent events.
void stream_answer(const std::shared_ptr<WebReply>& reply,
                   const std::shared_ptr<OpenaiAsked>& asked, TextQuery query);

}  // namespace hone
