// Text of generated tokens as soon as it is certain: characters are never cut.
#include "base/unicode/unicode.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

std::string StreamingDecoder::push(int32_t id) {
  tokenizer_.decode_next(id, skip_special_tokens_, state_, held_);
  const size_t ready = held_.size() - static_cast<size_t>(incomplete_tail(held_));
  std::string text = lossy_utf8(std::string_view(held_).substr(0, ready));
  held_.erase(0, ready);
  return text;
}

std::string StreamingDecoder::finish() {
  std::string text = lossy_utf8(held_);
  held_.clear();
  return text;
}

}  // namespace hone
