#include "learn/generate/stop_strings.h"

namespace hone {

StopStrings::StopStrings(const Tokenizer* tokenizer, const std::vector<std::string>& texts)
    : tokenizer_(tokenizer), texts_(texts) {
  for (const std::string& t : texts) longest_ = std::max(longest_, t.size());
}

bool StopStrings::hit(std::span<const int32_t> tokens) const {
  if (texts_.empty() || tokens.empty()) return false;
  // A token stands for a byte at least, but for those that stand for none.
  const auto tail = tokens.last(std::min(tokens.size(), 2 * longest_ + 8));
  const std::string text = tokenizer_->decode_bytes(tail);
  const size_t before = tokenizer_->decode_bytes(tail.first(tail.size() - 1)).size();
  for (const std::string& t : texts_) {
    const size_t from = before >= t.size() - 1 ? before - (t.size() - 1) : 0;
    if (from <= text.size() && text.find(t, from) != std::string::npos) return true;
  }
  return false;
}

}  // namespace hone
