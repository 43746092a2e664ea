// Gives each different word a number, 0, 1, 2, ... in the order of first use. The numbers are valid until clear().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hone {

// A metric clears its Interner when the Interner has more words than this, so that memory does not grow with the data.
inline constexpr int32_t kKeptWords = 1 << 16;

class Interner {
 public:
  int32_t number(std::string_view word) {
    if (const auto it = numbers_.find(word); it != numbers_.end()) return it->second;
    const auto n = static_cast<int32_t>(numbers_.size());
    numbers_.emplace(word, n);
    return n;
  }
  int32_t size() const { return static_cast<int32_t>(numbers_.size()); }  // different words
  void clear() { numbers_.clear(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> numbers_;
};

}  // namespace hone
