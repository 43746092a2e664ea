// Maps strings (keys) to values, and finds the keys that a text begins with.
//
// It is a trie in a double array (Aoe 1989): the child of node n for byte b is the unit base[n] + b, if the member
// `check` of that unit is n. So the step from a node to its child reads only one further unit.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

class PrefixTrie {
 public:
  using Key = std::pair<std::string_view, int32_t>;  // a key and its value, which must be >= 0
  PrefixTrie() : PrefixTrie(std::vector<Key>{}) {}
  // If a key appears twice, the last value counts. Empty keys are ignored.
  explicit PrefixTrie(std::vector<Key> keys);

  // Calls take(key_end, value) for each key that the bytes [p, end) begin with, the shortest first. key_end points
  // after the key.
  template <class Take>
  void each_prefix(const char* p, const char* end, const Take& take) const {
    for (int32_t node = 0; p < end;) {
      node = child(node, *p++);
      if (node < 0) return;
      if (const int32_t value = units_[static_cast<size_t>(node)].value; value >= 0) take(p, value);
    }
  }
  // Finds the longest key that [p, end) begins with. Returns its end and sets `value`; returns p if there is none.
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
    // The last 256 units are unused, so base + byte is always inside the array.
    const int32_t at = units_[static_cast<size_t>(node)].base + static_cast<unsigned char>(byte);
    return units_[static_cast<size_t>(at)].check == node ? at : -1;
  }
  std::vector<Unit> units_;
};

}  // namespace hone
