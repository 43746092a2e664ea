// A cache of the token ids of recent pieces. Each thread has one for each model.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "learn/tokenizers/text/vocabulary.h"

namespace hone {

// The ids of recent pieces, in tables of fixed size. A piece of at most kMaxBytes bytes with at most kMaxIds ids is
// stored in an Entry: 32 bytes each, in one of two possible places, 2 MiB in total. A longer piece, or one with more
// ids, is stored in a Long: 128 bytes each, in one possible place, 0.5 MiB in total.
class PieceCache {
 public:
  struct Entry {
    uint64_t low, high;  // the bytes of the piece, as at() packs them
    uint8_t packed[13];  // the ids, three bytes each, and one more byte so that id() can copy four
    uint8_t length = 0;  // bytes of the piece; 0: the entry is free
    uint8_t count = 0;   // number of ids, or kInLong
    int8_t extra = 0;    // for use by the model

    // The id with index i. Ids have at most 24 bits (Vocabulary::kMaxId).
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
  // kMaxBytes, kMaxIds: the most bytes and ids of a piece in an Entry. kPairs: the number of pairs of entries.
  static constexpr size_t kMaxBytes = 16, kMaxIds = 4, kPairs = size_t{1} << 15;
  // kMostBytes: the most bytes of a piece in a Long. kLongs: the number of places for a Long.
  static constexpr size_t kMostBytes = 53, kLongs = size_t{1} << 12;
  static constexpr uint8_t kInLong = 255;  // the piece has more than kMaxIds ids: use find_long()

  struct alignas(64) Long {
    std::array<int32_t, 18> ids;
    std::array<char, kMostBytes> bytes;
    int8_t extra = 0;
    uint8_t length = 0;  // bytes of the piece; 0: the place is free
    uint8_t count = 0;   // number of ids
  };

  // The entry for `piece`, which has 1 to kMaxBytes bytes. Sets `hit` to true if the cache has an entry for the piece.
  // Else the entry is a new one for this piece, and the caller must set its ids, or its count to kInLong.
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
    } else {  // at most three bytes: the first, the middle and the last one
      low = static_cast<unsigned char>(p[0]) | static_cast<unsigned char>(p[n / 2]) << 8 |
            static_cast<unsigned char>(p[n - 1]) << 16;
    }
    Pair& pair = pairs_[mix64(low, high ^ n << 56) & (kPairs - 1)];
    for (Entry& e : pair.entries) {
      hit = e.low == low && e.high == high && e.length == n;
      if (hit) return e;
    }
    pair.entries[1] = pair.entries[0];  // the older entry is dropped
    Entry& e = pair.entries[0];
    e.low = low;
    e.high = high;
    e.length = static_cast<uint8_t>(n);
    return e;
  }

  // The Long in which keep_long() stored a piece; null if it does not exist or has been replaced.
  const Long* find_long(std::string_view piece) const {
    const Long& l = longs_[hash_bytes(piece) & (kLongs - 1)];
    return std::string_view(l.bytes.data(), l.length) == piece ? &l : nullptr;
  }
  // Keeps the ids of a piece, unless it has more than kMostBytes bytes or more than 18 ids.
  void keep_long(std::string_view piece, std::span<const int32_t> ids, int8_t extra = 0) {
    Long& l = longs_[hash_bytes(piece) & (kLongs - 1)];
    if (piece.size() > kMostBytes || ids.size() > l.ids.size()) return;
    l.length = static_cast<uint8_t>(piece.copy(l.bytes.data(), piece.size()));
    l.count = static_cast<uint8_t>(ids.size());
    std::copy(ids.begin(), ids.end(), l.ids.begin());
    l.extra = extra;
  }

 private:
  struct alignas(64) Pair {
    Entry entries[2];
  };
  std::vector<Pair> pairs_ = std::vector<Pair>(kPairs);
  std::vector<Long> longs_ = std::vector<Long>(kLongs);
};

// Appends the ids of a piece to `ids`: from the cache, or else by compute(piece, ids), which appends them.
template <class Compute>
void append_cached(std::string_view piece, std::vector<int32_t>& ids, PieceCache& cache,
                   const Compute& compute) {
  bool hit = false;
  PieceCache::Entry* const e =
      piece.size() <= PieceCache::kMaxBytes ? &cache.at(piece, hit) : nullptr;
  if (hit && e->count != PieceCache::kInLong) {
    for (int i = 0; i < e->count; ++i) ids.push_back(e->id(i));
    return;
  }
  if (piece.size() > PieceCache::kMostBytes) return compute(piece, ids);
  if (hit || !e)
    if (const PieceCache::Long* const l = cache.find_long(piece)) {
      ids.insert(ids.end(), l->ids.begin(), l->ids.begin() + l->count);
      return;
    }
  const size_t before = ids.size();
  compute(piece, ids);
  const std::span<const int32_t> made = std::span(ids).subspan(before);
  if (e && made.size() <= PieceCache::kMaxIds) return e->set(made);
  if (e) e->count = PieceCache::kInLong;
  cache.keep_long(piece, made);
}

}  // namespace hone
