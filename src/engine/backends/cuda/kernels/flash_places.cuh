// The tiles of packed segments for attention, and the pairs of queries and keys that see each other in them. A tile
// has tokens of one segment alone, so that its bounds are known once a block.
#pragma once

#include "engine/backends/cuda/kernels/flash_tiles.cuh"

#ifdef HONE_HAS_FLASH
namespace hone::cuda {

// A tile of a segment. Tokens outside of all segments count as two more segments, one before (number -1) and one after
// the others, which have no tokens on the other side (keys for a tile of queries, and queries for a tile of keys).
struct FlashPlace {
  int first, count;              // the segment's first token and number of tokens on this side
  int other_first, other_count;  // those on the other side
  int tile, segment;             // number of the tile in the segment, number of the segment
};

// The sum, or the largest, of a number of each lane.
__device__ __forceinline__ int add_lanes(int x) { return __reduce_add_sync(kAllLanes, x); }
__device__ __forceinline__ int most_of_lanes(int x) { return __reduce_max_sync(kAllLanes, x); }

// Finds tile number `index` in the interleaved order of the segments whose lanes are in `members`: tile 0 of all these
// segments, then tile 1 of all, and so on; from the last tile down if kDown. mine: the number of tiles of this lane's
// segment. Sets `tile`, the number of the tile in its segment, and `of_lane`, the segment's lane.
template <bool kDown>
__device__ __forceinline__ void take_by_turns(int index, unsigned members, int mine, int& tile,
                                              int& of_lane) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  mine = (members >> lane & 1) != 0 ? mine : 0;
  const auto above = [&](int t) { return add_lanes(larger(mine - t, 0)); };  // of number t or more
  int low = 0, high = most_of_lanes(mine);                                   // low <= number < high
  const int all = above(0);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    const bool is_above = kDown ? above(middle) > index : all - above(middle) <= index;
    if (is_above)
      low = middle;
    else
      high = middle;
  }
  const int rank = kDown ? index - above(low + 1) : index - (all - above(low));
  const unsigned with = __ballot_sync(kAllLanes, mine > low);
  const bool is_it = mine > low && __popc(with & ((1u << lane) - 1)) == rank;
  of_lane = __ffs(static_cast<int>(__ballot_sync(kAllLanes, is_it))) - 1;
  tile = low;
}

// Finds tile number `index` among the tiles of kFlashTile tokens of all segments; false: there are fewer. All lanes of
// a warp must call it. starts, total: the first tokens of the segments, and the number of tokens, on this side. others:
// the first tokens on the other side. Tiles of a segment are in descending order if kDown, else ascending, so that
// those with the most work come first. Segments follow each other, so that their keys stay in the cache. Segments that
// begin in the last `group` tokens are interleaved: their blocks run last, and those with the most work must start
// first.
template <bool kDown>
__device__ __forceinline__ bool find_place(FlashPlace& place, int index, const int32_t* starts,
                                           int total, const int32_t* others, int segments,
                                           int group) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int s0 = -1; s0 <= segments; s0 += kWarp) {
    const int s = s0 + lane;
    int begin = 0, end = 0;
    if (s <= segments) {
      begin = s < 0 ? 0 : starts[s];
      end = s < segments ? starts[s + 1] : total;
    }
    const int tiles = (end - begin + kFlashTile - 1) / kFlashTile;
    int sum = tiles;
    HONE_UNROLL
    for (int step = 1; step < kWarp; step *= 2) {
      const int below = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += below;
    }
    const unsigned found = __ballot_sync(kAllLanes, index < sum);
    if (found == 0) {
      index -= __shfl_sync(kAllLanes, sum, kWarp - 1);
      continue;
    }
    int l = __ffs(static_cast<int>(found)) - 1;
    const unsigned members = __ballot_sync(kAllLanes, begin >= total - group);
    if ((members >> l & 1) != 0) {
      index -= __shfl_sync(kAllLanes, sum - tiles, __ffs(static_cast<int>(members)) - 1);
      take_by_turns<kDown>(index, members, tiles, place.tile, l);
    } else {
      place.tile = index - __shfl_sync(kAllLanes, sum - tiles, l);
      if (kDown) place.tile = __shfl_sync(kAllLanes, tiles, l) - 1 - place.tile;
    }
    place.first = __shfl_sync(kAllLanes, begin, l);
    place.count = __shfl_sync(kAllLanes, end - begin, l);
    place.segment = s0 + l;
    place.other_first = place.other_count = 0;
    if (place.segment >= 0 && place.segment < segments) {
      place.other_first = others[place.segment];
      place.other_count = others[place.segment + 1] - place.other_first;
    }
    return true;
  }
  return false;
}

// A query sees the keys at distances lowest to highest, where the distance is 0 for the key that is aligned with it
// (engine/ops/attention.cc), and larger for later keys.
struct Band {
  static constexpr int kFar = 1 << 29;  // more than any distance; sums of two of them are in range
  int lowest, highest;
  __device__ __forceinline__ explicit Band(const Attention& a) {
    const int window = a.window < kFar ? static_cast<int>(a.window) : kFar;
    lowest = window > 0 ? 1 - window : -kFar;
    highest = a.causal ? 0 : window > 0 ? window - 1 : kFar;
  }
  // Whether none of the distances from `least` to `most` is seen, or all of them.
  __device__ __forceinline__ bool has_none(int least, int most) const {
    return most < lowest || least > highest;
  }
  __device__ __forceinline__ bool has_all(int least, int most) const {
    return least >= lowest && most <= highest;
  }
};

// A block's tile of queries: the keys that they see, in tiles from `first` to before `end`. Query i of the segment is
// aligned with key i + shift.
struct QueryTile {
  int queries, keys, shift, i0, first, end;
  __device__ __forceinline__ QueryTile(const FlashPlace& place, const Band& band)
      : queries(place.count), keys(place.other_count) {
    shift = keys - queries;
    i0 = place.tile * kFlashTile;
    const int last = smaller(i0 + kFlashTile, queries) - 1;
    end = smaller(keys, last + shift + band.highest + 1);
    first = larger(0, i0 + shift + band.lowest) / kFlashTile * kFlashTile;
  }
};

// A block's tile of keys from j0 on: the queries that see them, in `tiles` tiles from `first` to before `end`. Key j of
// the segment is aligned with query j - shift.
struct KeyTile {
  int keys, queries, shift, j0, first, end, tiles;
  __device__ __forceinline__ KeyTile(const FlashPlace& place, const Band& band)
      : keys(place.count), queries(place.other_count) {
    shift = keys - queries;
    j0 = place.tile * kFlashTile;
    const int last = smaller(j0 + kFlashTile, keys) - 1;
    end = smaller(queries, last - shift - band.lowest + 1);
    first = larger(0, j0 - shift - band.highest) / kFlashTile * kFlashTile;
    tiles = first < end ? (end - first + kFlashTile - 1) / kFlashTile : 0;
  }
};

// Operands of attention: q [tq, row_q], k, v [tk, row_k] in elements, cu_q, cu_k [segments + 1] in tokens, rng {seed,
// step} and samples [tq], null without dropout, bias [heads, 2 reach - 1].
template <class T>
struct FlashOperands {
  const T *q, *k, *v;
  const int32_t *cu_q, *cu_k;
  const int64_t *rng, *samples;
  const float* bias;
};

// The block's place among the tiles of queries, which come with all heads one after the other.
template <class T>
__device__ __forceinline__ bool find_queries(FlashPlace& place, const FlashOperands<T>& in,
                                             const Attention& a) {
  return find_place<true>(place, static_cast<int>(blockIdx.x) / a.heads, in.cu_q,
                          static_cast<int>(a.tq), in.cu_k, a.segments, a.group);
}

// The columns from `lowest` to `highest` that are also from 0 to `last`.
struct Columns {
  int begin;
  unsigned span;
  __device__ __forceinline__ Columns(int lowest, int highest, int last) {
    const int end = smaller(highest, last);
    begin = larger(lowest, 0);
    if (end < begin) begin = Band::kFar;
    span = end < begin ? 0u : static_cast<unsigned>(end - begin);
  }
  __device__ __forceinline__ bool have(int c) const {
    return static_cast<unsigned>(c - begin) <= span;
  }
};

// Scores of pairs that do not see each other become -inf, for a tile with queries as rows. `distance`: of the tile's
// first key from this lane's first query; `last`: the last key there is in the tile.
template <int kTiles>
__device__ __forceinline__ void mask_keys(float (&s)[kTiles][4], int distance, int last,
                                          const Band& band, const Lane& lane) {
  const Columns of[2] = {{band.lowest - distance, band.highest - distance, last},
                         {band.lowest - distance + 8, band.highest - distance + 8, last}};
  HONE_UNROLL
  for (int t = 0; t < kTiles; ++t)
    HONE_UNROLL
    for (int e = 0; e < 4; ++e)
      if (!of[e / 2].have(t * 8 + lane.p * 2 + e % 2)) s[t][e] = kNothing;
}
// Probabilities of pairs that do not see each other become 0, for a tile with keys as rows. `distance`: of this lane's
// first key from the tile's first query; `last`: the last query there is in the tile.
template <int kTiles>
__device__ __forceinline__ void mask_queries(float (&p)[kTiles][4], int distance, int last,
                                             const Band& band, const Lane& lane) {
  const Columns of[2] = {{distance - band.highest, distance - band.lowest, last},
                         {distance + 8 - band.highest, distance + 8 - band.lowest, last}};
  HONE_UNROLL
  for (int t = 0; t < kTiles; ++t)
    HONE_UNROLL
    for (int e = 0; e < 4; ++e)
      if (!of[e / 2].have(t * 8 + lane.p * 2 + e % 2)) p[t][e] = 0;
}

}  // namespace hone::cuda
#endif
