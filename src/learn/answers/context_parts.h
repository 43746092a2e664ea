// Makes token rows from a question and its context, for models that extract answers from the context. A context that
// is too long for one row is cut into parts that overlap.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

// For each token of a part of the context: the bytes [first, second) of the context text that it covers.
using ContextSpans = std::vector<std::pair<size_t, size_t>>;

struct ContextPart {
  Encoding row;         // the question and a part of the context, with the model's special tokens
  int32_t context = 0;  // index in the row of the part's first token
  ContextSpans spans;   // of the part's tokens, in order
};

struct CutContext {
  int64_t question_tokens = 0;
  int64_t room = 0;                     // number of context tokens that fit into a row
  std::vector<ContextPart> parts = {};  // empty if room <= stride: the question is too long
};

class ContextCutter {
 public:
  // `most`: the maximum number of tokens of a row. `stride`: the number of context tokens that two successive parts
  // share. The tokenizer must outlive this object.
  ContextCutter(const Tokenizer& tokenizer, int64_t most, int64_t stride);
  CutContext cut(std::string_view question, std::string_view context) const;

 private:
  const Tokenizer& tokenizer_;
  int64_t most_, stride_, before_ = 0;  // before_: number of special tokens before the question
};

}  // namespace hone
