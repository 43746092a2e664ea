#include "learn/tokenizers/prefix_trie.h"

#include <algorithm>
#include <cstddef>

namespace hone {

PrefixTrie::PrefixTrie(std::vector<Key> keys) {
  std::stable_sort(keys.begin(), keys.end(),
                   [](const Key& a, const Key& b) { return a.first < b.first; });
  struct Task {  // the keys [first, last) share `depth` bytes, which lead to `node`
    size_t first, last, depth;
    int32_t node;
  };
  units_.resize(512);
  units_[0].check = INT32_MAX;  // taken, and nobody's child
  std::vector<Task> tasks = {{0, keys.size(), 0, 0}};
  std::vector<unsigned char> bytes;
  std::vector<size_t> starts;
  for (size_t next = 0; next < tasks.size(); ++next) {
    Task t = tasks[next];
    for (; t.first < t.last && keys[t.first].first.size() == t.depth; ++t.first)
      if (t.depth > 0) units_[static_cast<size_t>(t.node)].value = keys[t.first].second;
    if (t.first == t.last) continue;
    bytes.clear();
    starts.clear();
    for (size_t i = t.first; i < t.last; ++i) {
      const auto byte = static_cast<unsigned char>(keys[i].first[t.depth]);
      if (!bytes.empty() && bytes.back() == byte) continue;
      bytes.push_back(byte);
      starts.push_back(i);
    }
    starts.push_back(t.last);
    const int32_t base = place(bytes);
    units_[static_cast<size_t>(t.node)].base = base;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const int32_t child = base + bytes[i];
      units_[static_cast<size_t>(child)].check = t.node;
      tasks.push_back({starts[i], starts[i + 1], t.depth + 1, child});
    }
  }
  while (units_[units_.size() - 257].check < 0 && units_.size() > 512) units_.pop_back();
  units_.shrink_to_fit();
}

// The least base >= 1 from search_from_ on where the children's places are free.
int32_t PrefixTrie::place(const std::vector<unsigned char>& bytes) {
  size_t taken = 0;
  for (size_t at = std::max<size_t>(search_from_, bytes.front() + size_t{1});; ++at) {
    if (at + 512 > units_.size()) units_.resize(units_.size() * 2);
    if (units_[at].check >= 0) {
      ++taken;
      continue;
    }
    const size_t base = at - bytes.front();
    const bool free = std::all_of(bytes.begin(), bytes.end(),
                                  [&](unsigned char b) { return units_[base + b].check < 0; });
    if (!free) continue;
    // Where nearly all is taken, the next search need not look again.
    if (taken * 20 >= (at - search_from_ + 1) * 19) search_from_ = at;
    return static_cast<int32_t>(base);
  }
}

}  // namespace hone
