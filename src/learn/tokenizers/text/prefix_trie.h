// Maps strings to values, and finds the strings that a text begins with.
//
// A double array (Aoe 1989): the child of node n for byte b is at base[n] + b, and is its child
// only if check is n. A step is one memory access.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

class PrefixTrie {
 public:
  using Key = std::pair<std::string_view, int32_t>;  // value >= 0
  PrefixTrie() : PrefixTrie(std::vector<Key>{}) {}
  // If a key is given twice, the last one counts. Empty keys are never found.
  explicit PrefixTrie(std::vector<Key> keys);

  // Calls take(end, value) for every key that [p, end) begins with, the shortest first.
  template <class Take>
  void each_prefix(const char* p, const char* end, const Take& take) const {
    for (int32_t node = 0; p < end;) {
      node = child(node, *p++);
      if (node < 0) return;
      if (const int32_t value = units_[static_cast<size_t>(node)].value; value >= 0) take(p, value);
    }
  }
  // The end of the longest one and its value; p itself when there is none.
  const char* longest(const char* p, const char* end, int32_t& value) const {
    const char* stop = p;
    each_prefix(p, end, [&](const char* at, int32_t v) {
      stop = at;
      value = v;
    });
    return stop;
  }

 private:
  struct Unit {
    int32_t base = 0, check = -1, value = -1;
  };
  int32_t child(int32_t node, char byte) const {
    // The last 256 units are free, so that base + byte never leaves the array.
    const int32_t at = units_[static_cast<size_t>(node)].base + static_cast<unsigned char>(byte);
    return units_[static_cast<size_t>(at)].check == node ? at : -1;
  }
  std::vector<Unit> units_;
};

}  // namespace hone
