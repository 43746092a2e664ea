// Stop strings: decides whether the last token of a sequence has completed one of several texts. The text may begin in
// the prompt, as in Transformers' StopStringCriteria.
#pragma once

#include <span>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

class StopStrings {
 public:
  // The tokenizer may be null if there are no texts. Both must outlive this object.
  StopStrings(const Tokenizer* tokenizer, const std::vector<std::string>& texts);
  // Whether one of the texts occurs in the decoded sequence and overlaps its last token. `tokens`: prompt and new
  // ones.
  bool hit(std::span<const int32_t> tokens) const;

 private:
  const Tokenizer* tokenizer_;
  const std::vector<std::string>& texts_;
  size_t longest_ = 0;  // bytes
};

}  // namespace hone
