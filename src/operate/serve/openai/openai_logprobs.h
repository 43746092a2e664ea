// Log probabilities of tokens in OpenAI's forms.
//   https://platform.openai.com/docs/api-reference/chat/object#chat-object-choices-logprobs
//   https://platform.openai.com/docs/api-reference/completions/object#completions-object-choices-logprobs
#pragma once

#include "base/core/json.h"
#include "learn/generate/scores.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// The text of a token. If its bytes are not valid UTF-8 by themselves, each byte is written in hex: "bytes:\xe2\x80".
std::string token_text(const Tokenizer& tokenizer, int32_t id);

// One token: {"token", "logprob", "bytes", "top_logprobs"}.
OrderedJson token_logprobs_json(const Tokenizer& tokenizer, const TokenLogprobs& one);

// Collects the tokens of one answer until take() returns them for the next piece of the answer. The offset of a token
// is the number of characters (code points) that the answer's text has before the token.
class AnswerLogprobs {
 public:
  enum class Form {
    lists,   // for completions: {"text_offset", "token_logprobs", "tokens", "top_logprobs"}
    tokens,  // for chats: a list of token_logprobs_json(), without special tokens
  };
  // The tokenizer must outlive the object.
  AnswerLogprobs(const Tokenizer& tokenizer, Form form) : tokenizer_(&tokenizer), form_(form) {}
  // Adds the first token of a prompt, which has no probability.
  void add_first(int32_t id);
  void add(const TokenLogprobs& one);
  // Sets the offset of the next token.
  void set_offset(int64_t chars) { offset_ = chars; }
  // Removes the tokens with an offset of at least `chars`, because a stop text cut the answer there.
  void cut(int64_t chars);
  bool empty() const { return entries_.empty(); }
  // Returns and removes the collected tokens. If there are none: null for Form::lists, [] for Form::tokens.
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
