// Stop strings: decides whether the last token of a sequence has completed one of several texts. Such a text may begin
// in the prompt, as in Transformers' StopStringCriteria.
#pragma once

#include <span>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

class StopStrings {
 public:
  // `tokenizer` may be null if `texts` is empty. Both must outlive this object.
  StopStrings(const Tokenizer* tokenizer, const std::vector<std::string>& texts);
  // Whether one of the texts occurs in the decoded sequence and overlaps the last token. `tokens`: the tokens of the
  // prompt and the new tokens.
  bool hit(std::span<const int32_t> tokens) const;

 private:
  const Tokenizer* tokenizer_;
  const std::vector<std::string>& texts_;
  size_t longest_ = 0;  // bytes
};

}  // namespace hone
