// A question and its context as rows of tokens: a long context is cut into parts that overlap.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

// Bytes of the context from the first to before the second, for each token of a part.
using ContextSpans = std::vector<std::pair<size_t, size_t>>;

struct ContextPart {
  Encoding row;         // the question and a part of the context, with the model's special tokens
  int32_t context = 0;  // the first token of the context
  ContextSpans spans;   // of its tokens
};

struct CutContext {
  int64_t question_tokens = 0;
  int64_t room = 0;                     // tokens of the context in a row
  std::vector<ContextPart> parts = {};  // none: the room is not larger than the stride
};

class ContextCutter {
 public:
  // Rows of at most `most` tokens; two parts share `stride` tokens of the context. The tokenizer outlives it.
  ContextCutter(const Tokenizer& tokenizer, int64_t most, int64_t stride);
  CutContext cut(std::string_view question, std::string_view context) const;

 private:
  const Tokenizer& tokenizer_;
  int64_t most_, stride_, before_ = 0;  // before_: special tokens in front of a question
};

}  // namespace hone
