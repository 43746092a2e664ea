// attention (engine/ops/attention.cc) in bf16 or f16 on tensor cores: S = Q K^T by tiles of 64 queries and 64 keys,
// O = P V, with no score kept (Dao, arXiv 2307.08691). Scores and sums are f32, probabilities are rounded before
// they are multiplied. Keys and values come by asynchronous copies to one of two buffers while the other is used.
// Sums have a fixed order, so bits are the same in each run; by warps and by warp groups they differ.
#pragma once

#include "engine/backends/cuda/kernels/flash_bias.cuh"
#include "engine/backends/cuda/kernels/flash_dropout.cuh"
#include "engine/backends/cuda/kernels/flash_places.cuh"
#include "engine/backends/cuda/kernels/flash_products.cuh"
#include "engine/backends/cuda/kernels/flash_warp_groups.cuh"

#ifdef HONE_HAS_FLASH
namespace hone::cuda {

// Probabilities are 2^(score - most) before they are divided by their sum. `most` is the maximum of the keys of the
// first tile that a row sees: any number that is not far below the row's maximum does, and a tile whose sum is
// above this limit says that it is. Then the tile is made again with a new one; else no maxima are searched.
constexpr float kMostOfTile = 4096.0f;

// The running softmax of a lane's two rows, g and g + 8; scores are in powers of two.
struct FlashRows {
  float most[2] = {kNothing, kNothing};
  float sum[2] = {0, 0};  // over this lane's columns

  __device__ __forceinline__ bool are_new() const {
    return most[0] == kNothing || most[1] == kNothing;
  }
  // Raises `most` to the scores s, times `scale`, and scales what was summed before.
  template <int kTiles, int kColumns>
  __device__ __forceinline__ void raise(const float (&s)[kTiles][4], float scale,
                                        float (&o)[kColumns][4]) {
    HONE_UNROLL
    for (int half = 0; half < 2; ++half) {
      float here = fmaxf(s[0][2 * half], s[0][2 * half + 1]);
      HONE_UNROLL
      for (int t = 1; t < kTiles; ++t) here = fmaxf(here, fmaxf(s[t][2 * half], s[t][2 * half + 1]));
      here = fmaxf(here, __shfl_xor_sync(kAllLanes, here, 1));
      here = scale * fmaxf(here, __shfl_xor_sync(kAllLanes, here, 2));
      const float now = fmaxf(most[half], here);
      const float faded = most[half] == kNothing ? 0.0f : exp2_fast(most[half] - now);
      most[half] = now;
      sum[half] *= faded;
      HONE_UNROLL
      for (int n = 0; n < kColumns; ++n) {
        o[n][2 * half] *= faded;
        o[n][2 * half + 1] *= faded;
      }
    }
  }
  // Makes probabilities of half the scores; returns their sum.
  template <int kTiles>
  __device__ __forceinline__ float powers(float (&s)[kTiles][4], int half, float scale) const {
    const float base = most[half] == kNothing ? 0.0f : most[half];
    float all = 0;
    HONE_UNROLL
    for (int t = 0; t < kTiles; ++t)
      HONE_UNROLL
      for (int e = 0; e < 2; ++e) {
        float& x = s[t][2 * half + e];
        x = exp2_fast(fmaf(x, scale, -base));
        all += x;
      }
    return all;
  }
  // The natural logarithm of the sum of all exponentials of a row, after close(); -inf if there are none.
  __device__ __forceinline__ float lse(int half) const {
    return sum[half] == 0 ? kNothing : (most[half] + log2_fast(sum[half])) * kLn2;
  }
  // What makes probabilities of powers, which are scaled by `kept`; 0 if there are none.
  __device__ __forceinline__ float factor(int half, float kept) const {
    return sum[half] == 0 ? 0.0f : kept / sum[half];
  }
  // Adds the sums of the four lanes of a row.
  __device__ __forceinline__ void close() {
    HONE_UNROLL
    for (int half = 0; half < 2; ++half) {
      sum[half] += __shfl_xor_sync(kAllLanes, sum[half], 1);
      sum[half] += __shfl_xor_sync(kAllLanes, sum[half], 2);
    }
  }
};

// Makes the probabilities of a tile from scores, and zeros of those that are dropped. Returns whether a row's sum says
// that `most` is too low; of_tile: the sums, over this lane's columns.
template <bool kDropout>
__device__ __forceinline__ bool weigh(float (&s)[8][4], float (&of_tile)[2], const FlashRows& rows,
                                      float scale, const QueryDropout& dropout, int j0,
                                      uint32_t threshold, const Lane& lane) {
  if constexpr (kDropout) pin(j0);  // words are made here, not before the products
  HONE_UNROLL
  for (int half = 0; half < 2; ++half) {
    of_tile[half] = rows.powers(s, half, scale);
    if constexpr (kDropout)
      drop_keys(s, half, dropout.rows[half], j0, dropout.key, threshold, lane);
  }
  return __any_sync(kAllLanes, of_tile[0] > kMostOfTile || of_tile[1] > kMostOfTile) != 0;
}

// A block's 64 queries, of which each warp has 16: its registers.
template <class By, class T, int kD, bool kDropout, bool kBias>
struct ForwardTile {
  static constexpr int kTiles = kFlashTile / 8, kPanel = kFlashTile * kRowBytes;
  const FlashOperands<T>& in;
  const Attention& a;
  const Lane lane;
  const Band band;
  const QueryTile tile;
  const int head, of_warp, mine;  // mine: the first of this lane's queries
  KeyStream<kD, T> stream;
  QueryDropout dropout;
  FlashRows rows;
  float o[kD / 8][4];
  typename By::template Left<T, kD> left;
  ByWarps::Left<T, kD, false> alone;  // for products by one warp

  __device__ __forceinline__ ForwardTile(SharedPlace of_q, const FlashPlace& place,
                                         const FlashOperands<T>& operands, const Attention& attention)
      : in(operands),
        a(attention),
        band(a),
        tile(place, band),
        head(static_cast<int>(blockIdx.x) % a.heads),
        of_warp(tile.i0 + warp_of_block() * 16),
        mine(of_warp + lane.g),
        stream(of_q + kFlashTile * kD * 2, in.k, in.v, place.other_first + tile.first,
               head / (a.heads / a.kv_heads), tile.keys, a) {
    load_tile<kD, kFlashTile>(of_q, in.q + (place.first + tile.i0) * a.row_q + head * a.size, a.row_q,
                              tile.queries - tile.i0, a.size);
    if (tile.first < tile.end) stream.load(0, tile.first);
    commit_copies();
    if constexpr (kDropout)
      dropout.begin(in.rng, in.samples + place.first, head, mine, tile.queries, a);
    clear(o);
    By::wait_tiles();
    __syncthreads();
    if constexpr (By::kTogether) left.load(of_q, kPanel, lane);
    alone.load(of_q, kPanel, lane);
  }

  // Scores times log2 e, without `scale` unless there is a bias; -inf for keys that are not seen. by_itself: by each
  // warp, though others of its group do not.
  __device__ __forceinline__ void score(float (&s)[kTiles][4], int j0, int stage, bool by_itself) {
    const int nearest = j0 - (of_warp + 15 + tile.shift);
    const int farthest = j0 + kFlashTile - 1 - (of_warp + tile.shift);
    const int columns = 2 * static_cast<int>(a.reach) - 1;
    Biases biases;
    const auto load_biases = [&] {
      if constexpr (kBias)
        biases.template load<1>(in.bias + head * columns,
                                columns / 2 + j0 - mine - tile.shift + lane.p * 2, columns);
    };
    if (By::kTogether && !by_itself) {
      begin_products<By>(s);
      By::dot(s, left, stream.keys(stage), kPanel, lane);
      By::commit();
      load_biases();
      By::wait();
      By::hold(s);
    } else {
      ByWarps::dot(s, alone, stream.keys(stage), kPanel, lane);
      load_biases();
    }
    if constexpr (kBias) biases.add(s, a.scale * kLog2e);
    if (!band.has_all(nearest, farthest) || j0 + kFlashTile > tile.keys) {
      int distance = j0 - mine - tile.shift;
      pin(distance);
      mask_keys(s, distance, tile.keys - 1 - j0, band, lane);
    }
  }

  // Adds the keys from j0 on to the sums, whose products may then run on.
  __device__ __forceinline__ void add(int j0, int stage) {
    const float scale = kBias ? 1.0f : a.scale * kLog2e;
    float s[kTiles][4], of_tile[2];
    for (bool is_again = false;; is_again = true) {
      score(s, j0, stage, is_again);
      if (__any_sync(kAllLanes, rows.are_new()) || is_again) rows.raise(s, scale, o);
      const bool is_low = weigh<kDropout>(s, of_tile, rows, scale, dropout, j0, a.threshold, lane);
      if (is_again || !is_low) break;
    }
    rows.sum[0] += of_tile[0];
    rows.sum[1] += of_tile[1];
    uint32_t p[kFlashTile / 16][4];
    pack_lefts<T>(p, s);
    begin_products<By>(o);
    By::template add<T>(o, p, stream.values(stage), kPanel, lane);
    By::commit();
  }
  // Whether the warp takes part in a tile: warps that multiply by themselves pass over keys that none of their rows sees.
  __device__ __forceinline__ bool sees(int j0) const {
    return By::kTogether || !band.has_none(j0 - (of_warp + 15 + tile.shift),
                                           j0 + kFlashTile - 1 - (of_warp + tile.shift));
  }
};

// out [tq, row_out] in elements, lse [heads, tq]. Blocks: heads times the tiles of all segments.
template <class By, class T, int kD, bool kDropout, bool kBias>
__device__ __forceinline__ void flash_forward(const FlashOperands<T>& in, T* out, float* lse,
                                              const Attention& a) {
  HONE_ALIGNED_SHARED(shared);
  FlashPlace place;
  if (!find_queries(place, in, a)) return;
  ForwardTile<By, T, kD, kDropout, kBias> f(shared_place(shared), place, in, a);
  for (int j0 = f.tile.first, stage = 0; j0 < f.tile.end; j0 += kFlashTile, stage ^= 1) {
    if (j0 + kFlashTile < f.tile.end) {  // the other buffer has no readers any more
      f.stream.load(stage ^ 1, j0 + kFlashTile);
      commit_copies();
    }
    if (f.sees(j0)) f.add(j0, stage);
    finish_products<By>(f.o);
    __syncthreads();  // the next tile is there, and this one has no readers any more
  }
  f.rows.close();
  const float kept = kDropout ? a.kept : 1.0f;
  HONE_UNROLL
  for (int half = 0; half < 2; ++half)
    if (f.lane.p == 0 && f.mine + 8 * half < f.tile.queries)
      lse[f.head * a.tq + place.first + f.mine + 8 * half] = f.rows.lse(half);
  store_tile<kD>(shared + warp_of_block() * 16 * kRowBytes, f.kPanel,
                 out + (place.first + f.of_warp) * a.row_out + f.head * a.size, a.row_out,
                 f.tile.queries - f.of_warp, a.size, f.o, f.rows.factor(0, kept),
                 f.rows.factor(1, kept), f.lane);
}

}  // namespace hone::cuda
#endif
