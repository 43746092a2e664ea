// The ids of pieces seen lately, which the models of a thread keep.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "learn/tokenizers/vocabulary.h"

namespace hone {

// Ids of pieces seen lately: two places for each piece, so bounded. Holds pieces of up to 16 bytes
// that become up to 4 ids; 32 bytes an entry, two megabytes in all.
class PieceCache {
 public:
  struct Entry {
    uint64_t low, high;  // together with `length` they give every byte of the piece
    uint8_t packed[13];  // the first ids, three bytes each, and room for a four-byte copy
    uint8_t length = 0;  // 0 = free
    uint8_t count = 0;
    int8_t extra = 0;  // for the model

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
