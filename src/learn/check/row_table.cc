#include "learn/check/row_table.h"

#include <algorithm>
#include <cstring>

#include "base/core/error.h"

namespace hone {
namespace {

// Finaliser of SplitMix64 over eight bytes at a time.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint64_t hash(std::string_view text) {
  uint64_t h = mix(text.size() + 0x9e3779b97f4a7c15ull);
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, text.data(), 8);
    h = mix(h ^ word) + 0x9e3779b97f4a7c15ull;
  }
  uint64_t word = 0;
  std::memcpy(&word, text.data(), text.size());
  return mix(h ^ word);
}

}  // namespace

RowPlace RowFiles::place(std::string_view file, int64_t line) {
  const auto at = std::find(names_.rbegin(), names_.rend(), file);
  if (at != names_.rend()) return {static_cast<int32_t>(names_.rend() - at - 1), line};
  names_.emplace_back(file);
  return {static_cast<int32_t>(names_.size() - 1), line};
}

std::string RowFiles::text(RowPlace place) const {
  return fmt::format("{}:{}", names_[static_cast<size_t>(place.file)], place.line);
}

void RowTable::add(std::string_view text, bool validation, RowPlace place) {
  const uint64_t h = hash(text);
  if (h & mask_) return;
  Entry& entry = entries_[h];
  int64_t& count = entry.count[validation ? 1 : 0];
  if (count == 0) entry.first[validation ? 1 : 0] = place;
  if (count == 1 && !validation) entry.again = place;
  ++count;
  while (entries_.size() > most_) {
    mask_ = mask_ * 2 + 1;
    std::erase_if(entries_, [&](const auto& e) { return (e.first & mask_) != 0; });
  }
}

}  // namespace hone
