// Whether a sequence has just said one of some texts: the text must overlap its last token, as
// Transformers' StopStringCriteria has it, and may begin in the prompt.
#pragma once

#include <span>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

class StopStrings {
 public:
  // The tokenizer may be null when there are no texts.
  StopStrings(const Tokenizer* tokenizer, const std::vector<std::string>& texts);
  bool hit(std::span<const int32_t> tokens) const;

 private:
  const Tokenizer* tokenizer_;
  const std::vector<std::string>& texts_;
  size_t longest_ = 0;  // bytes
};

}  // namespace hone
