// Log probabilities of tokens in OpenAI's forms.
//   https://platform.openai.com/docs/api-reference/chat/object#chat-object-choices-logprobs
//   https://platform.openai.com/docs/api-reference/completions/object#completions-object-choices-logprobs
#pragma once

#include "base/core/json.h"
#include "learn/generate/scores.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// The text of a token. Bytes that are not characters by themselves: "bytes:\xe2\x80".
std::string token_text(const Tokenizer& tokenizer, int32_t id);

// One token: {"token", "logprob", "bytes", "top_logprobs"}.
OrderedJson token_logprobs_json(const Tokenizer& tokenizer, const TokenLogprobs& one);

// The tokens of one answer, until its next piece takes them. An offset counts the characters of the
// answer's text before a token.
class AnswerLogprobs {
 public:
  enum class Form {
    lists,   // of a completion: {"text_offset", "token_logprobs", "tokens", "top_logprobs"}
    tokens,  // of a chat: a list of token_logprobs_json, without special tokens
  };
  // The tokenizer must outlive it.
  AnswerLogprobs(const Tokenizer& tokenizer, Form form) : tokenizer_(&tokenizer), form_(form) {}
  // The first token of a prompt: it has no probability.
  void add_first(int32_t id);
  void add(const TokenLogprobs& one);
  // The next token begins at this number of characters.
  void set_offset(int64_t chars) { offset_ = chars; }
  // Leaves out tokens at `chars` and later: a stop text cut the answer there.
  void cut(int64_t chars);
  bool empty() const { return entries_.empty(); }
  // The tokens since the last call. Without one: null of lists, an empty list of tokens.
  OrderedJson take();

 private:
  struct Entry {
    int64_t offset;
    TokenLogprobs token;
    bool has_logprob;
  };
  void add_entry(Entry entry);
  OrderedJson lists() const;

  const Tokenizer* tokenizer_;
  Form form_;
  int64_t offset_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace hone
