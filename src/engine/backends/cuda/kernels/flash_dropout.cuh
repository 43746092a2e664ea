// Dropout of probabilities in tiles of 64 queries and keys: the words of random.cuh (Philox 4x32-10, Salmon et al.,
// 2011), of which the counter {sample, sample's high half ^ head, query, column's counter} changes in its last
// word alone along a row.
#pragma once

#include "engine/backends/cuda/kernels/flash_tiles.cuh"
#include "engine/backends/cuda/kernels/philox.cuh"

#ifdef HONE_HAS_FLASH
namespace hone::cuda {

constexpr uint32_t kPhiloxM0 = 0xD2511F53u, kPhiloxM1 = 0xCD9E8D57u;  // as in philox.cuh
constexpr uint32_t kPhiloxW0 = 0x9E3779B9u, kPhiloxW1 = 0xBB67AE85u;

__device__ __forceinline__ uint32_t high_half(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
__device__ __forceinline__ uint32_t low_half(uint64_t x) { return static_cast<uint32_t>(x); }
__device__ __forceinline__ uint64_t times(uint32_t x, uint32_t y) {
  return static_cast<uint64_t>(x) * y;
}

// The key of a place, from all lanes alike, so that keys of rounds are in registers that lanes share.
__device__ __forceinline__ Key key_of_warp(const int64_t* rng, uint64_t place) {
  const Key key = key_of(rng, place);
  return {__shfl_sync(kAllLanes, key.k0, 0), __shfl_sync(kAllLanes, key.k1, 0)};
}

// The part of the first three rounds that is the same for a row.
struct DropoutRow {
  uint32_t a, c1, c4, c5, c6;
};
// `query`: its place in the segment.
__device__ __forceinline__ DropoutRow dropout_row(int64_t sample, int head, int query, Key key) {
  const auto s = static_cast<uint64_t>(sample);
  const uint32_t w0 = low_half(s), w1 = (high_half(s) << 16) ^ static_cast<uint32_t>(head);
  const uint64_t a0 = times(kPhiloxM0, w0), b0 = times(kPhiloxM1, static_cast<uint32_t>(query));
  const uint32_t x0 = high_half(b0) ^ w1 ^ key.k0;  // after one round
  const uint64_t a1 = times(kPhiloxM0, x0);
  const uint32_t x2 = high_half(a1) ^ low_half(a0) ^ (key.k1 + kPhiloxW1);  // after two
  const uint64_t b2 = times(kPhiloxM1, x2);
  return {high_half(a0) ^ key.k1, low_half(b0) ^ (key.k0 + kPhiloxW0),
          high_half(b2) ^ (key.k0 + 2 * kPhiloxW0), low_half(b2),
          low_half(a1) ^ (key.k1 + 2 * kPhiloxW1)};
}
// The words of kCount counters at once, so that their multiplications overlap.
template <int kCount>
__device__ __forceinline__ void dropout_words(uint32_t (&w)[kCount][4], const DropoutRow& row,
                                              const uint32_t (&counters)[kCount], Key key) {
  HONE_UNROLL
  for (int c = 0; c < kCount; ++c) {
    const uint64_t b1 = times(kPhiloxM1, row.a ^ counters[c]);
    const uint64_t a2 = times(kPhiloxM0, high_half(b1) ^ row.c1);
    w[c][0] = low_half(b1) ^ row.c4;
    w[c][1] = row.c5;
    w[c][2] = high_half(a2) ^ row.c6;
    w[c][3] = low_half(a2);
  }
  uint32_t k0 = key.k0 + 3 * kPhiloxW0, k1 = key.k1 + 3 * kPhiloxW1;
  HONE_UNROLL
  for (int round = 3; round < 10; ++round) {
    HONE_UNROLL
    for (int c = 0; c < kCount; ++c) {
      const uint64_t a = times(kPhiloxM0, w[c][0]), b = times(kPhiloxM1, w[c][2]);
      w[c][0] = high_half(b) ^ w[c][1] ^ k0;
      w[c][1] = low_half(b);
      w[c][2] = high_half(a) ^ w[c][3] ^ k1;
      w[c][3] = low_half(a);
    }
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
}

// Zeros in z where a pair is dropped: 64 keys, from key j0 of the segment on (a multiple of 64), of one of this lane's
// two queries (half 0: row g, 1: row g + 8). Returns bit 16 half + 2 t + e for each column 8 t + 2 p + e that is
// kept. The four words of a counter belong to columns c, c + 16, c + 32, c + 48, which are all of this lane.
__device__ __forceinline__ uint32_t drop_keys(float (&z)[8][4], int half, const DropoutRow& row, int j0,
                                              Key key, uint32_t threshold, const Lane& lane) {
  uint32_t is_kept = 0;
  const uint32_t c = counter_of(static_cast<uint32_t>(j0 + lane.p * 2));
  const uint32_t counters[4] = {c, c + 1, c + 8, c + 9};
  uint32_t w[4][4];
  dropout_words(w, row, counters, key);
  HONE_UNROLL
  for (int i = 0; i < 4; ++i)
    HONE_UNROLL
    for (int word = 0; word < 4; ++word) {
      const int t = 2 * word + i / 2, e = i % 2;
      float& x = z[t][2 * half + e];
      if (w[i][word] >= threshold)
        is_kept |= 1u << (16 * half + 2 * t + e);
      else
        x = 0;
    }
  return is_kept;
}

// The dropout of a lane's two queries.
struct QueryDropout {
  Key key;
  DropoutRow rows[2];
  // samples: those of the segment, which has `queries`; `mine`: the first of the two.
  __device__ __forceinline__ void begin(const int64_t* rng, const int64_t* samples, int head, int mine,
                                        int queries, const Attention& a) {
    key = key_of_warp(rng, a.place);
    HONE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int i = smaller(mine + 8 * half, queries - 1);
      rows[half] = dropout_row(samples[i], head, i, key);
    }
  }
  // drop_keys() of both.
  __device__ __forceinline__ uint32_t drop(float (&z)[8][4], int j0, uint32_t threshold,
                                           const Lane& lane) const {
    return drop_keys(z, 0, rows[0], j0, key, threshold, lane) |
           drop_keys(z, 1, rows[1], j0, key, threshold, lane);
  }
};

// The bits of drop_keys() go from dq to dk/dv through global memory, 1/8 byte a pair: a word of each lane for 16
// queries and 64 keys. Words of a head's 16 queries from query i of a segment on, for keys from j0 on; `first`:
// the segment's first query. As each segment may end with a part of a tile, tiles of segments have places apart.
__device__ __forceinline__ int64_t place_of_bits(const Attention& a, int head, int first, int segment,
                                                 int i, int j0) {
  const int rows = static_cast<int>(a.tq) / 16 + a.segments + 2;
  const int row = head * rows + first / 16 + segment + 1 + i / 16;
  return (static_cast<int64_t>(row) * a.bit_columns + j0 / kFlashTile) * kWarp;
}
// Whether a segment of `keys` has a place for its bits; else dk/dv makes them again.
__device__ __forceinline__ bool has_bits(const Attention& a, int keys) {
  return keys <= a.bit_columns * kFlashTile;
}

// Makes the bits of 64 queries and 64 keys, as drop_keys() leaves them: bits[16 queries][lane]. Thread t has query
// t / 2 of the tile (`query`: its place in the segment) and eight counters.
__device__ __forceinline__ void make_bits(uint32_t* bits, int t, int64_t sample, int head, int query,
                                          int j0, Key key, uint32_t threshold) {
  const int r = t / 2, half = t % 2;
  const DropoutRow row = dropout_row(sample, head, query, key);
  uint32_t parts[2] = {0, 0};  // for lanes 4 g and 4 g + 1, 4 g + 2 and 4 g + 3: 16 bits each
  HONE_UNROLL
  for (int c0 = 0; c0 < 8; c0 += 2) {
    const uint32_t c = counter_of(static_cast<uint32_t>(j0 + half * 8 + c0));
    const uint32_t counters[2] = {c, c + 1};
    uint32_t w[2][4];
    dropout_words(w, row, counters, key);
    HONE_UNROLL
    for (int e = 0; e < 2; ++e)
      HONE_UNROLL
      for (int word = 0; word < 4; ++word)
        if (w[e][word] >= threshold)
          parts[c0 / 4] |= 1u << (c0 / 2 % 2 * 16 + 4 * word + 2 * half + e);
  }
  HONE_UNROLL
  for (int k = 0; k < 2; ++k) parts[k] |= __shfl_xor_sync(kAllLanes, parts[k], 1);
  const uint32_t mine = half == 0 ? parts[0] : parts[1];  // no index: they stay in registers
  uint16_t* const to = reinterpret_cast<uint16_t*>(bits + r / 16 * kWarp + r % 8 * 4 + 2 * half) + r / 8 % 2;
  to[0] = static_cast<uint16_t>(mine);
  to[2] = static_cast<uint16_t>(mine >> 16);
}

}  // namespace hone::cuda
#endif
