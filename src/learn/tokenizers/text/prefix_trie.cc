#include "learn/tokenizers/text/prefix_trie.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace hone {
namespace {

// The units that are taken, a bit each.
class TakenUnits {
 public:
  void take(size_t unit) { bits_[unit / 64] |= uint64_t{1} << unit % 64; }
  // After the last one that can be asked for or taken.
  size_t limit() const { return (bits_.size() - kSpare) * 64; }

  // The least base >= 1 from search_from_ on where base + b is free for each of the bytes.
  size_t place(const std::vector<unsigned char>& bytes) {
    std::array<uint64_t, 4> wanted = {};  // from the first byte on
    for (const unsigned char b : bytes) {
      const size_t i = b - size_t{bytes.front()};
      wanted[i / 64] |= uint64_t{1} << i % 64;
    }
    size_t seen_free = 0;
    for (size_t at = std::max<size_t>(search_from_, bytes.front() + size_t{1});; ++at) {
      at = next_free(at);
      ++seen_free;
      bool free = true;
      for (size_t i = 0; i < wanted.size(); ++i)
        free = free && (wanted[i] == 0 || (wanted[i] & sixty_four(at + 64 * i)) == 0);
      if (!free) continue;
      // If nearly everything is taken, the next search can start later.
      if (seen_free * 20 <= at - search_from_ + 1) search_from_ = at;
      return at - bytes.front();
    }
  }

 private:
  static constexpr size_t kSpare = 9;  // words: 512 units and a word, after each place

  uint64_t sixty_four(size_t unit) const {
    const size_t word = unit / 64, shift = unit % 64;
    return bits_[word] >> shift | (shift > 0 ? bits_[word + 1] << (64 - shift) : 0);
  }
  size_t next_free(size_t at) {
    for (;; at = (at / 64 + 1) * 64) {
      while (at >= limit()) bits_.resize(bits_.size() * 2);
      const uint64_t free = ~bits_[at / 64] >> at % 64;
      if (free != 0) return at + static_cast<size_t>(std::countr_zero(free));
    }
  }

  std::vector<uint64_t> bits_ = std::vector<uint64_t>(32);
  size_t search_from_ = 1;
};

}  // namespace

PrefixTrie::PrefixTrie(std::vector<Key> keys) {
  std::stable_sort(keys.begin(), keys.end(),
                   [](const Key& a, const Key& b) { return a.first < b.first; });
  struct Task {  // the keys [first, last) share `depth` bytes, which lead to `node`
    size_t first, last, depth;
    int32_t node;
  };
  TakenUnits taken;
  units_.resize(512);
  units_[0].check = INT32_MAX;  // taken, and nobody's child
  taken.take(0);
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
    const auto base = static_cast<int32_t>(taken.place(bytes));
    if (units_.size() < taken.limit() + 512) units_.resize(taken.limit() + 512);
    units_[static_cast<size_t>(t.node)].base = base;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const int32_t child = base + bytes[i];
      units_[static_cast<size_t>(child)].check = t.node;
      taken.take(static_cast<size_t>(child));
      tasks.push_back({starts[i], starts[i + 1], t.depth + 1, child});
    }
  }
  while (units_[units_.size() - 257].check < 0 && units_.size() > 512) units_.pop_back();
  units_.shrink_to_fit();
}

}  // namespace hone
