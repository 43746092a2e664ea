#include "learn/tokenizers/text/charsmap.h"

#include <cstring>

#include "base/unicode/unicode.h"
#include "learn/tokenizers/text/errors.h"

namespace hone {
namespace {

constexpr uint32_t kLeaf = 1u << 31;  // such a unit is the value of the key that ends there

bool has_leaf(uint32_t unit) { return unit >> 8 & 1; }
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }
uint32_t label_of(uint32_t unit) { return unit & (kLeaf | 0xff); }

Error damaged(std::string what) {
  return Error(err::kTokenizerFormat, "the charsmap is damaged: " + std::move(what))
      .todo("fetch the tokenizer's files again");
}

}  // namespace

template <class Take>
void Charsmap::each_prefix(std::string_view text, const Take& take) const {
  uint32_t at = offset_of(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (at >= units_.size() || label_of(units_[at]) != byte) return;
    const uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (at >= units_.size() || !take(units_[at] & ~kLeaf, i + 1)) return;
  }
}

std::string_view Charsmap::replacement(uint32_t value) const {
  if (value >= replacements_.size()) return {};
  return replacements_.c_str() + value;
}

std::optional<std::string_view> Charsmap::longest(std::string_view text, size_t& length) const {
  std::optional<uint32_t> found;
  each_prefix(text, [&](uint32_t value, size_t bytes) {
    found = value;
    length = bytes;
    return true;
  });
  return found ? std::optional(replacement(*found)) : std::nullopt;
}

std::optional<std::string_view> Charsmap::shortest(std::string_view text) const {
  std::optional<uint32_t> found;
  each_prefix(text, [&](uint32_t value, size_t) {
    found = value;
    return false;
  });
  return found ? std::optional(replacement(*found)) : std::nullopt;
}

Result<Charsmap> Charsmap::parse(std::string_view blob) {
  uint32_t bytes = 0;
  if (blob.size() < 8) return damaged(fmt::format("it is {} bytes long", blob.size()));
  std::memcpy(&bytes, blob.data(), 4);
  blob.remove_prefix(4);
  if (bytes == 0 || bytes % 4 != 0 || bytes >= blob.size())
    return damaged(fmt::format("its table is {} bytes long, the file has {}", bytes, blob.size()));
  Charsmap map;
  map.units_.resize(bytes / 4);
  std::memcpy(map.units_.data(), blob.data(), bytes);
  map.replacements_ = blob.substr(bytes);
  if (lossy_utf8(map.replacements_) != map.replacements_)
    return damaged("its replacements are not UTF-8");
  for (const uint32_t unit : map.units_)
    if ((unit & kLeaf) && (unit & ~kLeaf) >= map.replacements_.size())
      return damaged(fmt::format("a replacement is at {}, the last at {}", unit & ~kLeaf,
                                 map.replacements_.size()));
  for (int c = 1; c < 128; ++c) {
    bool stays = c != '\r';  // it stays with a line feed
    for (int next = 0; next < 128 && stays; ++next) {
      const char two[] = {static_cast<char>(c), static_cast<char>(next)};
      stays = !map.shortest({two, 2});
    }
    map.stays_[static_cast<size_t>(c)] = stays;
  }
  return map;
}

}  // namespace hone
