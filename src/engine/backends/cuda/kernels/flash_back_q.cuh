// The part of attention_grad (engine/ops/attention_grad.cc) with queries as rows: dq, by tiles of 64 queries and 64
// keys, and numbers, dropout's bits and parts of the bias' gradient for what comes after it.
#pragma once

#include "engine/backends/cuda/kernels/flash_bias.cuh"
#include "engine/backends/cuda/kernels/flash_dropout.cuh"
#include "engine/backends/cuda/kernels/flash_places.cuh"
#include "engine/backends/cuda/kernels/flash_products.cuh"
#include "engine/backends/cuda/kernels/flash_warp_groups.cuh"

#ifdef HONE_HAS_FLASH
namespace hone::cuda {

// Elements to the numbers of 64 queries of a segment from query i on (a multiple of 64): 64 lse by powers of two, then
// 64 delta = out . dout. dk/dv copies these 512 bytes at once. Queries past the segment's end, and those that see
// nothing, have an lse of +inf: their probabilities are 0.
__device__ __forceinline__ int64_t place_of_numbers(const Attention& a, int head, int first, int segment,
                                                    int i) {
  const int tiles = static_cast<int>(a.tq) / kFlashTile + a.segments + 2;
  const int tile = head * tiles + first / kFlashTile + segment + 1 + i / kFlashTile;
  return static_cast<int64_t>(tile) * (2 * kFlashTile);
}

// delta[half] = out . dout of this lane's rows, from their tiles.
template <int kD, class T>
__device__ __forceinline__ void dot_rows_of_tiles(float (&delta)[2], SharedPlace of_out,
                                                  SharedPlace of_dout, int panel, const Lane& lane) {
  const SharedPlace at = static_cast<SharedPlace>(warp_of_block() * 16 * kRowBytes) + lane.columns;
  HONE_UNROLL
  for (int k = 0; k < kD / 16; ++k) {
    uint32_t x[4], y[4];  // [0] and [2] are from row g, [1] and [3] from row g + 8
    load_matrices_at<false>(x, channels_at(of_out + at, k, panel));
    load_matrices_at<false>(y, channels_at(of_dout + at, k, panel));
    HONE_UNROLL
    for (int r = 0; r < 4; ++r)
      HONE_UNROLL
      for (int e = 0; e < 2; ++e)
        delta[r % 2] = fmaf(half_of<T>(x[r], e), half_of<T>(y[r], e), delta[r % 2]);
  }
  HONE_UNROLL
  for (int half = 0; half < 2; ++half) {
    delta[half] += __shfl_xor_sync(kAllLanes, delta[half], 1);
    delta[half] += __shfl_xor_sync(kAllLanes, delta[half], 2);
  }
}

// Leaves the numbers of this lane's two rows for dk/dv; to: those of the warp's first query.
__device__ __forceinline__ void leave_numbers(float* to, const float (&most)[2],
                                              const float (&delta)[2], const Lane& lane) {
  HONE_UNROLL
  for (int half = 0; half < 2; ++half) {
    if (lane.p != 0) continue;
    to[lane.g + 8 * half] = most[half];
    to[lane.g + 8 * half + kFlashTile] = most[half] == -kNothing ? 0.0f : delta[half];
  }
}
// s = 2^(scale s - most), the probabilities, with queries as rows.
template <int kTiles>
__device__ __forceinline__ void powers_of_rows(float (&s)[kTiles][4], float scale,
                                               const float (&most)[2]) {
  HONE_UNROLL
  for (int t = 0; t < kTiles; ++t)
    HONE_UNROLL
    for (int e = 0; e < 4; ++e) s[t][e] = exp2_fast(fmaf(s[t][e], scale, -most[e / 2]));
}
// s = P (dP - delta), the gradient of scores, from s = P and d = dO V^T, where dropped pairs are 0 already. `kept`: their
// scale.
template <bool kDropout, int kTiles>
__device__ __forceinline__ void slope_scores(float (&s)[kTiles][4], const float (&d)[kTiles][4],
                                             const float (&delta)[2], float kept) {
  HONE_UNROLL
  for (int t = 0; t < kTiles; ++t)
    HONE_UNROLL
    for (int e = 0; e < 4; ++e)
      s[t][e] *= kDropout ? fmaf(d[t][e], kept, -delta[e / 2]) : d[t][e] - delta[e / 2];
}
// Puts the warp's rows of s in a tile for add_tile_diagonals(), zeros past `count` of them.
template <int kTiles>
__device__ __forceinline__ void put_scores(float* rows, const float (&s)[kTiles][4], int count,
                                           const Lane& lane) {
  float* const to = rows + lane.g * kBiasStep + lane.p * 2;
  HONE_UNROLL
  for (int t = 0; t < kTiles; ++t)
    HONE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const bool is_there = lane.g + 8 * half < count;
      *reinterpret_cast<FloatPair*>(to + half * 8 * kBiasStep + t * 8) = {
          is_there ? s[t][2 * half] : 0.0f, is_there ? s[t][2 * half + 1] : 0.0f};
    }
}

// most[half]: the lse of this lane's rows by powers of two; +inf for those that see nothing, or do not exist. lse: of the
// segment's first query.
__device__ __forceinline__ void read_lse(float (&most)[2], const float* lse, int mine, int queries) {
  HONE_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int i = mine + 8 * half;
    const float x = lse[smaller(i, queries - 1)];
    most[half] = x == kNothing || i >= queries ? -kNothing : x * kLog2e;
  }
}

// A block's 64 queries, of which each warp has 16: its registers.
template <class By, class T, int kD, bool kDropout, bool kBias>
struct BackTile {
  static constexpr int kTiles = kFlashTile / 8, kPanel = kFlashTile * kRowBytes;
  static constexpr int kTile = kFlashTile * kD * 2;  // bytes: queries, dout; two of keys, two of values
  const FlashOperands<T>& in;
  const Attention& a;
  uint8_t* const shared;
  const Lane lane;
  const Band band;
  const QueryTile tile;
  const int head, warp, of_warp, mine;  // mine: the first of this lane's queries
  KeyStream<kD, T> stream;
  QueryDropout dropout;
  float most[2], delta[2] = {0, 0};  // most: the lse by powers of two
  float o[kD / 8][4];
  typename By::template Left<T, kD, false> of_queries, of_dout;  // not held: there are too few registers

  __device__ __forceinline__ BackTile(uint8_t* memory, const FlashPlace& place,
                                      const FlashOperands<T>& operands, const Attention& attention)
      : in(operands),
        a(attention),
        shared(memory),
        band(a),
        tile(place, band),
        head(static_cast<int>(blockIdx.x) % a.heads),
        warp(warp_of_block()),
        of_warp(tile.i0 + warp * 16),
        mine(of_warp + lane.g),
        stream(shared_place(shared) + 2 * kTile, in.k, in.v, place.other_first + tile.first,
               head / (a.heads / a.kv_heads), tile.keys, a) {}

  // Loads the tiles of queries, makes delta, and begins the copies of keys.
  __device__ __forceinline__ void begin(const FlashPlace& place, const T* out, const T* dout,
                                        const float* lse, float* numbers) {
    const SharedPlace of_q = shared_place(shared), of_d = of_q + kTile, of_out = of_d + kTile;
    const int64_t token = place.first + tile.i0, of_head = token * a.row_out + head * a.size;
    const int count = tile.queries - tile.i0;
    load_tile<kD, kFlashTile>(of_q, in.q + token * a.row_q + head * a.size, a.row_q, count, a.size);
    load_tile<kD, kFlashTile>(of_d, dout + of_head, a.row_out, count, a.size);
    load_tile<kD, kFlashTile>(of_out, out + of_head, a.row_out, count, a.size);
    commit_copies();
    read_lse(most, lse + head * a.tq + place.first, mine, tile.queries);
    if constexpr (kDropout)
      dropout.begin(in.rng, in.samples + place.first, head, mine, tile.queries, a);
    By::wait_tiles();
    __syncthreads();
    of_queries.load(of_q, kPanel, lane);
    of_dout.load(of_d, kPanel, lane);
    dot_rows_of_tiles<kD, T>(delta, of_out, of_d, kPanel, lane);
    leave_numbers(numbers + place_of_numbers(a, head, place.first, place.segment, tile.i0) + warp * 16,
                  most, delta, lane);
    __syncthreads();  // out was read
    if (tile.first < tile.end) stream.load(0, tile.first);
    commit_copies();
    clear(o);
    By::wait_tiles();
    __syncthreads();
  }

  __device__ __forceinline__ bool sees(int j0) const {
    return By::kTogether || kBias ||
           !band.has_none(j0 - (of_warp + 15 + tile.shift),
                          j0 + kFlashTile - 1 - (of_warp + tile.shift));
  }
  // Adds the keys from j0 on to dq; bits: of this lane for the first keys, or null.
  __device__ __forceinline__ void add(int j0, int stage, uint32_t* bits) {
    const float of_product = a.scale * kLog2e;
    const int columns = 2 * static_cast<int>(a.reach) - 1;
    float s[kTiles][4], d[kTiles][4];
    begin_products<By>(s, d);
    By::dot(s, of_queries, stream.keys(stage), kPanel, lane);
    By::commit();
    By::dot(d, of_dout, stream.values(stage), kPanel, lane);
    By::commit();
    Biases biases;
    if constexpr (kBias)
      biases.template load<1>(in.bias + head * columns,
                              columns / 2 + j0 - mine - tile.shift + lane.p * 2, columns);
    By::template wait<1>();
    By::hold(s);
    if constexpr (kBias) biases.add(s, of_product);
    const int nearest = j0 - (of_warp + 15 + tile.shift);
    const int farthest = j0 + kFlashTile - 1 - (of_warp + tile.shift);
    if (!band.has_all(nearest, farthest) || j0 + kFlashTile > tile.keys)
      mask_keys(s, j0 - mine - tile.shift, tile.keys - 1 - j0, band, lane);
    powers_of_rows(s, kBias ? 1.0f : of_product, most);
    By::wait();
    By::hold(d);
    if constexpr (kDropout) {
      const uint32_t kept = dropout.drop(d, j0, a.threshold, lane);
      if (bits != nullptr) bits[j0 / kFlashTile * kWarp] = kept;
    }
    slope_scores<kDropout>(s, d, delta, a.kept);
    if constexpr (kBias)
      put_scores(scores() + warp * 16 * kBiasStep, s, tile.queries - of_warp, lane);
    uint32_t x[kFlashTile / 16][4];
    pack_lefts<T>(x, s);
    begin_products<By>(o);
    By::template add<T>(o, x, stream.keys(stage), kPanel, lane);
    By::commit();
  }
  // With a bias, the gradients of a tile's scores.
  __device__ __forceinline__ float* scores() const {
    return reinterpret_cast<float*>(shared + 6 * kTile);
  }
};

// out, dout [tq, row_out] and dq [tq, row_q] in elements, lse [heads, tq]. numbers: see place_of_numbers(); bits: see
// place_of_bits(), null without dropout; parts [tile][head][2 reach - 1]: of tiles that do not exist zeros. sums: null, or
// for those of the rows of dq, [tile][row_q].
template <class By, class T, int kD, bool kDropout, bool kBias>
__device__ __forceinline__ void flash_back_q(const FlashOperands<T>& in, const T* out, const T* dout,
                                             const float* lse, T* dq, float* numbers, uint32_t* bits,
                                             float* parts, float* sums, const Attention& a) {
  HONE_ALIGNED_SHARED(shared);
  const int columns = 2 * static_cast<int>(a.reach) - 1;
  const auto sums_here = [&] {
    int block = static_cast<int>(blockIdx.x);
    pin(block);  // else this is made before the loop, which has no registers for it
    const int heads = a.heads;
    return sums + static_cast<int64_t>(block / heads) * a.row_q + block % heads * a.size;
  };
  if constexpr (kBias) {
    parts += static_cast<int64_t>(blockIdx.x) * columns;
    clear_parts(parts, columns);
  }
  if constexpr (kD <= kMostSummedWithDropout || !kDropout)
    if (sums != nullptr) clear_tile_sums(sums_here(), a.size);  // a tile may not exist
  FlashPlace place;
  if (!find_queries(place, in, a)) return;
  BackTile<By, T, kD, kDropout, kBias> b(shared, place, in, a);
  const QueryTile& tile = b.tile;
  b.begin(place, out, dout, lse, numbers);
  if constexpr (kDropout) {
    const bool leaves_bits = has_bits(a, tile.keys) && b.of_warp < tile.queries;
    bits += place_of_bits(a, b.head, place.first, place.segment, b.of_warp, 0) + b.lane.number;
    if (!leaves_bits) bits = nullptr;
  }
  for (int j0 = tile.first, stage = 0; j0 < tile.end; j0 += kFlashTile, stage ^= 1) {
    if (j0 + kFlashTile < tile.end) {  // the other buffer has no readers any more
      b.stream.load(stage ^ 1, j0 + kFlashTile);
      commit_copies();
    }
    if (b.sees(j0)) b.add(j0, stage, bits);
    finish_products<By>(b.o);
    __syncthreads();  // the next tile is there, and this one has no readers any more
    if constexpr (kBias) {
      add_tile_diagonals(b.scores(), parts, columns / 2 + j0 - tile.i0 - tile.shift, columns);
      __syncthreads();
    }
  }
  store_tile<kD>(shared + b.warp * 16 * kRowBytes, b.kPanel,
                 dq + (place.first + b.of_warp) * a.row_q + b.head * a.size, a.row_q,
                 tile.queries - b.of_warp, a.size, b.o, a.scale, a.scale, b.lane);
  if constexpr (kD <= kMostSummedWithDropout || !kDropout) {
    if (sums == nullptr) return;
    __syncthreads();
    sum_tile_rows<T>(shared, b.kPanel, sums_here(), tile.queries - tile.i0, a.size);
  }
}

}  // namespace hone::cuda
#endif
