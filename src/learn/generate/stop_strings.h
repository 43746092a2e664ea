// Finds whether a sequence has just completed one of several texts. The text must overlap the last
// token, as in Transformers' StopStringCriteria, and may begin in the prompt.
#pragma once

#include <span>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

class StopStrings {
 public:
  // The tokenizer may be null if there are no texts.
  StopStrings(const Tokenizer* tokenizer, const std::vector<std::string>& texts);
  bool hit(std::span<const int32_t> tokens) const;

 private:
  const Tokenizer* tokenizer_;
  const std::vector<std::string>& texts_;
  size_t longest_ = 0;  // bytes
};

}  // namespace hone
