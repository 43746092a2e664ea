// The merging of byte pair encoding and the cache of merged pieces: what byte-level and
// character-level BPE share.
//
// The adjacent pair with the lowest rank, the leftmost of equals, is replaced by its result until
// no pair has a rank. Short pieces scan an array; long ones use a heap, so n symbols take
// O(n log n).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "learn/tokenizers/bpe.h"

namespace hone {

// What a pair merges to: rank in the high half, result in the low one. kNoMerge is larger than any.
using MergeStep = uint64_t;
inline constexpr MergeStep kNoMerge = ~MergeStep{0};

class MergeTable {
 public:
  // ranks as in BpeParts.
  MergeTable(std::span<const Merge> merges, std::span<const int32_t> ranks);

  MergeStep find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t i = home(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].step;
      if (slots_[i].key == kFree) return kNoMerge;
    }
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    MergeStep step = kNoMerge;
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t home(uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 20) & mask_; }

  std::vector<Slot> slots_;
  size_t mask_;
};

// Ids of pieces seen lately: two places for each piece, so bounded. Holds pieces of up to 16 bytes
// that become up to 4 ids; 32 bytes an entry, two megabytes in all.
class PieceCache {
 public:
  struct Entry {
    uint64_t low, high;  // together with `length` they give every byte of the piece
    uint8_t packed[13];  // the first ids, three bytes each, and room for a four-byte copy
    uint8_t length = 0;  // 0 = free
    uint8_t count = 0;
    uint8_t unused = 0;

    // Ids have at most 24 bits: Vocabulary::kMaxId.
    int32_t id(int i) const {
      uint32_t four;
      std::memcpy(&four, packed + 3 * i, 4);
      return static_cast<int32_t>(four & 0xffffff);
    }
    void set(std::span<const int32_t> ids) {
      count = static_cast<uint8_t>(ids.size());
      for (size_t i = 0; i < ids.size(); ++i) std::memcpy(packed + 3 * i, &ids[i], 3);
    }
  };
  static constexpr size_t kMaxBytes = 16, kMaxIds = 4, kPairs = size_t{1} << 15;

  // The entry where `piece` (1 to kMaxBytes bytes) belongs; hit tells whether it is there. If not,
  // its key is written and the caller fills ids and count.
  Entry& at(std::string_view piece, bool& hit) {
    const char* p = piece.data();
    const size_t n = piece.size();
    uint64_t low = 0, high = 0;
    if (n >= 8) {
      std::memcpy(&low, p, 8);
      std::memcpy(&high, p + n - 8, 8);
    } else if (n >= 4) {
      uint32_t a, b;
      std::memcpy(&a, p, 4);
      std::memcpy(&b, p + n - 4, 4);
      low = a, high = b;
    } else {  // first, middle and last byte are all there is
      low = static_cast<unsigned char>(p[0]) | static_cast<unsigned char>(p[n / 2]) << 8 |
            static_cast<unsigned char>(p[n - 1]) << 16;
    }
    Pair& pair = pairs_[mix64(low, high ^ n << 56) & (kPairs - 1)];
    for (Entry& e : pair.entries) {
      hit = e.low == low && e.high == high && e.length == n;
      if (hit) return e;
    }
    pair.entries[1] = pair.entries[0];  // the older one goes
    Entry& e = pair.entries[0];
    e.low = low;
    e.high = high;
    e.length = static_cast<uint8_t>(n);
    return e;
  }

 private:
  struct alignas(64) Pair {
    Entry entries[2];
  };
  std::vector<Pair> pairs_ = std::vector<Pair>(kPairs);
};

struct BpeScratch : ModelScratch {
  PieceCache cache;
  std::vector<int32_t> symbols;
  std::vector<MergeStep> steps;
  struct Node {
    int32_t symbol, previous, next;
  };
  std::vector<Node> nodes;
  std::vector<uint64_t> heap;  // rank in the high half, place of the left symbol in the low one
};

// Merges scratch.symbols, which hold the first symbols of a piece, until nothing merges.
void merge_symbols(const MergeTable& table, BpeScratch& scratch);

// Appends the ids of a piece: from the cache, or from compute(piece, ids), which appends them.
template <class Compute>
void append_cached(std::string_view piece, std::vector<int32_t>& ids, PieceCache& cache,
                   const Compute& compute) {
  if (piece.size() > PieceCache::kMaxBytes) return compute(piece, ids);
  bool hit;
  PieceCache::Entry& e = cache.at(piece, hit);
  if (hit) {
    for (int i = 0; i < e.count; ++i) ids.push_back(e.id(i));
    return;
  }
  const size_t before = ids.size();
  compute(piece, ids);
  const size_t count = ids.size() - before;
  if (count > PieceCache::kMaxIds) {
    e.length = 0;
    return;
  }
  e.set(std::span(ids).subspan(before));
}

}  // namespace hone
