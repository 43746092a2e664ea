// The part of attention_grad (engine/ops/attention_grad.cc) with keys as rows: dk and dv by tiles of 64 keys and 64
// queries. S^T = K Q^T and dP^T = V dO^T have keys as rows, so that P^T dO and dS^T Q take their left side from
// registers. A block sums over the heads that read its head of keys, in their order.
#pragma once

#include "engine/backends/cuda/kernels/flash_back_q.cuh"

#ifdef HONE_HAS_FLASH
namespace hone::cuda {

// The queries that a block's keys are seen by, tile after tile and head after head, as they are loaded ahead of their
// use.
template <int kD, bool kDropout, class T>
struct QueryStream {
  static constexpr int kTile = kFlashTile * kD * 2, kNumbers = 2 * kFlashTile * 4, kBits = 4 * kWarp * 4;
  // In bytes of shared memory: queries, gradients, numbers, two of each; eight bytes for the end; dropout's key, bits.
  static constexpr int kAtNumbers = 4 * kTile, kAtEnd = kAtNumbers + 2 * kNumbers;
  static constexpr int kAtKey = kAtEnd + 8, kAtBits = kAtKey + 8;

  // Arguments of the kernel, which are read again and need no registers.
  const FlashOperands<T>& in;
  const float* numbers;
  const uint32_t* bits;
  const Attention& a;
  const FlashPlace& place;  // of keys
  uint8_t* shared;
  SharedPlace at;
  int first, end, head, i0;  // head, i0: of the next tile
  TileLoader<kD, kFlashTile, T> of_q, of_d;

  __device__ __forceinline__ QueryStream(const FlashOperands<T>& operands, const T* of_douts,
                                         const float* all_numbers, const uint32_t* all_bits,
                                         const Attention& attention, const FlashPlace& keys,
                                         uint8_t* memory, int first_head, int first_query,
                                         int last_query)
      : in(operands),
        numbers(all_numbers),
        bits(all_bits),
        a(attention),
        place(keys),
        shared(memory),
        at(shared_place(memory)),
        first(first_query),
        end(last_query),
        head(first_head),
        i0(first_query),
        of_q(in.q + (keys.other_first + first_query) * a.row_q + first_head * a.size, a.row_q),
        of_d(of_douts + (keys.other_first + first_query) * a.row_out + first_head * a.size, a.row_out) {
    // In memory, as the loop has no registers for it.
    if constexpr (kDropout)
      if (!has_bits(a, place.count)) {
        const Key key = key_of_warp(in.rng, a.place);
        if (threadIdx.x == 0) *key_here() = key;
        __syncthreads();
      }
  }

  __device__ __forceinline__ SharedPlace queries(int stage) const {
    return at + static_cast<SharedPlace>(stage * kTile);
  }
  __device__ __forceinline__ SharedPlace douts(int stage) const {
    return at + static_cast<SharedPlace>((2 + stage) * kTile);
  }
  __device__ __forceinline__ const float* numbers_of(int stage) const {
    return reinterpret_cast<const float*>(shared + kAtNumbers + stage * kNumbers);
  }
  __device__ __forceinline__ uint32_t* bits_of(int stage) const {
    return reinterpret_cast<uint32_t*>(shared + kAtBits + stage * kBits);
  }
  __device__ __forceinline__ Key* key_here() const { return reinterpret_cast<Key*>(shared + kAtKey); }

  // Begins the copies of the next tile.
  __device__ __forceinline__ void load(int stage, int j0) {
    const int tid = static_cast<int>(threadIdx.x), count = place.other_count - i0;
    int from = place.other_first, segment = place.segment;
    pin(from);  // as in make()
    of_q.load(queries(stage), a.row_q, count, a.size);
    of_d.load(douts(stage), a.row_out, count, a.size);
    if (tid < kWarp)
      copy_async(at + static_cast<SharedPlace>(kAtNumbers + stage * kNumbers + tid * 16),
                 numbers + place_of_numbers(a, head, from, segment, i0) + tid * 4);
    if constexpr (kDropout) {
      if (tid < kWarp && has_bits(a, place.count)) {  // 128 bytes for 16 queries
        const int r = tid / 8, piece = tid % 8;
        copy_async(at + static_cast<SharedPlace>(kAtBits + stage * kBits + tid * 16),
                   bits + place_of_bits(a, head, from, segment, i0 + r * 16, j0) +
                       piece * 4,
                   r * 16 < count ? 16 : 0);
      }
    }
    commit_copies();
  }
  // Makes the bits of the next tile, unless dq left them.
  __device__ __forceinline__ void make(int stage, int j0) {
    if constexpr (kDropout)
      if (!has_bits(a, place.count)) {
        int t = static_cast<int>(threadIdx.x), from = j0;
        pin(t);  // else what the loop does not change is made before it, and has no registers
        pin(from);
        const int i = i0 + t / 2;
        const int64_t sample = in.samples[place.other_first + smaller(i, place.other_count - 1)];
        make_bits(bits_of(stage), t, sample, head, i, from, *key_here(), a.threshold);
      }
  }
  __device__ __forceinline__ void begin(bool has_any, int j0) {
    if (!has_any) return commit_copies();
    load(0, j0);
    make(0, j0);
    go_on();
  }
  // To the next tile.
  __device__ __forceinline__ void go_on() {
    i0 += kFlashTile;
    if (i0 < end) return;
    of_q.skip(a.size - (i0 - first) * a.row_q);
    of_d.skip(a.size - (i0 - first) * a.row_out);
    i0 = first;
    ++head;
  }
};

// s = 2^(scale s - lse), the probabilities, with queries as columns; lse: of column 2 p.
template <int kTiles>
__device__ __forceinline__ void powers_of_queries(float (&s)[kTiles][4], float scale,
                                                  const float* lse) {
  HONE_UNROLL
  for (int t = 0; t < kTiles; ++t) {
    const FloatPair of = *reinterpret_cast<const FloatPair*>(lse + t * 8);
    HONE_UNROLL
    for (int e = 0; e < 4; ++e)
      s[t][e] = exp2_fast(fmaf(s[t][e], scale, e % 2 == 0 ? -of.first : -of.second));
  }
}
// The left sides P^T (x), where dropped pairs are 0, and dS^T (y), from s = P^T and d = V dO^T; delta: of column 2 p.
// Bits are from word 0 of 16 queries on; place_of_bit: word, and 128 times the bit, of this lane's first pair.
template <class T, bool kDropout, int kTiles>
__device__ __forceinline__ void left_sides(uint32_t (&x)[kTiles / 2][4], uint32_t (&y)[kTiles / 2][4],
                                           float (&s)[kTiles][4], const float (&d)[kTiles][4],
                                           const float* delta, const uint32_t* bits, int place_of_bit,
                                           float kept) {
  HONE_UNROLL
  for (int t = 0; t < kTiles; ++t) {
    const FloatPair of = *reinterpret_cast<const FloatPair*>(delta + t * 8);
    float p[4];
    HONE_UNROLL
    for (int e = 0; e < 4; ++e) {
      const float of_query = e % 2 == 0 ? of.first : of.second;
      p[e] = s[t][e];
      if constexpr (kDropout) {
        const uint32_t word = bits[t / 2 * kWarp + e % 2 * 4 + place_of_bit % 128];
        const bool is_kept =
            (word >> (place_of_bit / 128) >> (16 * (t % 2) + 2 * (e / 2)) & 1) != 0;
        p[e] = is_kept ? p[e] : 0.0f;
        s[t][e] *= fmaf(is_kept ? d[t][e] : 0.0f, kept, -of_query);
      } else {
        s[t][e] *= d[t][e] - of_query;
      }
    }
    HONE_UNROLL
    for (int half = 0; half < 2; ++half) {
      x[t / 2][t % 2 * 2 + half] = pack<T>(p[2 * half], p[2 * half + 1]);
      y[t / 2][t % 2 * 2 + half] = pack<T>(s[t][2 * half], s[t][2 * half + 1]);
    }
  }
}

// A block's 64 keys, of which each warp has 16: its registers.
template <class By, class T, int kD, bool kDropout, bool kBias>
struct KeysTile {
  // kSub: queries of a product. By warps registers do not suffice for results of 64.
  static constexpr int kSub = By::kTogether ? 64 : kD == 128 ? 16 : 32, kTiles = kSub / 8;
  static constexpr int kPanel = kFlashTile * kRowBytes, kTile = kFlashTile * kD * 2;
  static constexpr bool kHeld = kD == 64 && !kDropout;
  const FlashOperands<T>& in;
  const Attention& a;
  const Lane lane;
  const Band band;
  const KeyTile tile;
  const int warp, of_warp, mine;  // mine: the first of this lane's keys
  typename By::template Left<T, kD, kHeld> of_keys, of_values;
  float of_dk[kD / 8][4], of_dv[kD / 8][4];

  __device__ __forceinline__ KeysTile(const FlashPlace& place, const FlashOperands<T>& operands,
                                      const Attention& attention)
      : in(operands),
        a(attention),
        band(a),
        tile(place, band),
        warp(warp_of_block()),
        of_warp(tile.j0 + warp * 16),
        mine(of_warp + lane.g) {}

  // Begins the copies of this block's keys and values.
  __device__ __forceinline__ void load(SharedPlace at, const FlashPlace& place, int kv_head) {
    const int64_t token = place.first + tile.j0;
    const int count = tile.keys - tile.j0;
    load_tile<kD, kFlashTile>(at, in.k + token * a.row_k + kv_head * a.size, a.row_k, count, a.size);
    load_tile<kD, kFlashTile>(at + kTile, in.v + token * a.row_v + kv_head * a.size, a.row_v, count,
                              a.size);
  }
  // After these copies.
  __device__ __forceinline__ void begin(SharedPlace at) {
    of_keys.load(at, kPanel, lane);
    of_values.load(at + kTile, kPanel, lane);
    clear(of_dk);
    clear(of_dv);
  }

  // Adds kSub queries from query i of the segment on, which are `sub` queries after the tile of this stage.
  __device__ __forceinline__ void add(const QueryStream<kD, kDropout, T>& stream, int stage, int sub,
                                      int head, int i) {
    const int least = of_warp - tile.shift - (i + kSub - 1);  // distances of this warp's pairs
    const int most = of_warp + 15 - tile.shift - i;
    if (!By::kTogether && band.has_none(least, most)) return;
    const int columns = 2 * static_cast<int>(a.reach) - 1;
    const float of_product = a.scale * kLog2e;
    const SharedPlace queries = stream.queries(stage) + static_cast<SharedPlace>(sub * kRowBytes);
    const SharedPlace douts = stream.douts(stage) + static_cast<SharedPlace>(sub * kRowBytes);
    float s[kTiles][4], d[kTiles][4];
    begin_products<By>(s, d);
    By::dot(s, of_keys, queries, kPanel, lane);
    By::commit();
    By::dot(d, of_values, douts, kPanel, lane);
    By::commit();
    Biases biases;
    if constexpr (kBias)
      biases.template load<-1>(in.bias + head * columns,
                               columns / 2 + mine - tile.shift - i - lane.p * 2, columns);
    By::template wait<1>();
    By::hold(s);
    if constexpr (kBias) biases.add(s, of_product);
    const float* const of_pair = stream.numbers_of(stage) + sub + lane.p * 2;
    powers_of_queries(s, kBias ? 1.0f : of_product, of_pair);
    // Queries that do not exist have probabilities 0 by their lse, but a NaN where there is no bias.
    const int last_query = kBias ? smaller(kSub, tile.queries - i) - 1 : kSub - 1;
    if (!band.has_all(least, most) || last_query < kSub - 1)
      mask_queries(s, mine - tile.shift - i, last_query, band, lane);
    By::wait();
    By::hold(d);
    // Query 8 (t % 2) + 2 p + e % 2 of 16, key 16 warp + 8 (e / 2) + g of 64: see drop_keys().
    int place_of_bit = lane.p * 8 + lane.g / 2 + (warp * 4 + lane.g % 2) * 128;  // word, bit
    if constexpr (kDropout) pin(place_of_bit);
    uint32_t x[kSub / 16][4], y[kSub / 16][4];  // P^T and dS^T as left sides
    left_sides<T, kDropout>(x, y, s, d, of_pair + kFlashTile, stream.bits_of(stage) + sub / 16 * kWarp,
                            place_of_bit, a.kept);
    begin_products<By>(of_dv, of_dk);
    By::template add<T>(of_dv, x, douts, kPanel, lane);
    By::template add<T>(of_dk, y, queries, kPanel, lane);
    By::commit();
  }
};

// dout [tq, row_out], dk, dv [tk, row_k] in elements; numbers, bits: from flash_back_q.cuh. sums_k, sums_v: null, or for
// those of the rows of dk and dv, [tile][row_k].
template <class By, class T, int kD, bool kDropout, bool kBias>
__device__ __forceinline__ void flash_back_kv(const FlashOperands<T>& in, const T* dout,
                                              const float* numbers, const uint32_t* bits, T* dk, T* dv,
                                              float* sums_k, float* sums_v, const Attention& a) {
  HONE_ALIGNED_SHARED(shared);
  const int kv_head = static_cast<int>(blockIdx.x) % a.kv_heads, heads = a.heads / a.kv_heads;
  if constexpr (kD <= kMostSummedWithDropout || !kDropout)
    if (sums_k != nullptr) {  // a tile may not exist
      const int64_t at = static_cast<int>(blockIdx.x) / a.kv_heads * a.row_k + kv_head * a.size;
      clear_tile_sums(sums_k + at, a.size);
      clear_tile_sums(sums_v + at, a.size);
    }
  FlashPlace place;
  if (!find_place<false>(place, static_cast<int>(blockIdx.x) / a.kv_heads, in.cu_k,
                         static_cast<int>(a.tk), in.cu_q, a.segments, a.group))
    return;
  using Keys = KeysTile<By, T, kD, kDropout, kBias>;
  Keys mine(place, in, a);
  const KeyTile& tile = mine.tile;
  mine.load(shared_place(shared), place, kv_head);
  QueryStream<kD, kDropout, T> stream(in, dout, numbers, bits, a, place, shared + 2 * Keys::kTile,
                                      kv_head * heads, tile.first, tile.end);
  // In memory until the end, as the loop has no registers for them.
  int* const kept_for_end = reinterpret_cast<int*>(stream.shared + stream.kAtEnd);
  if (threadIdx.x == 0) {
    kept_for_end[0] = place.first + tile.j0;
    kept_for_end[1] = tile.keys - tile.j0;
  }
  int i0 = tile.first, head = stream.head;
  const int all = tile.tiles * heads;
  stream.begin(all > 0, tile.j0);
  By::wait_tiles();
  __syncthreads();
  mine.begin(shared_place(shared));
  for (int n = 0, stage = 0; n < all; ++n, stage ^= 1) {
    const int next_i0 = stream.i0, next_head = stream.head;
    if (n + 1 < all) stream.load(stage ^ 1, tile.j0);
    HONE_UNROLL
    for (int sub = 0; sub < kFlashTile; sub += Keys::kSub)
      mine.add(stream, stage, sub, head, i0 + sub);
    i0 = next_i0;
    head = next_head;
    if (n + 1 < all) {
      stream.make(stage ^ 1, tile.j0);
      stream.go_on();
    }
    finish_products<By>(mine.of_dv, mine.of_dk);
    __syncthreads();
  }
  int block = static_cast<int>(blockIdx.x);
  pin(block);  // else this is made before the loop
  const int of_warp = warp_of_block() * 16, count = kept_for_end[1] - of_warp;
  const int64_t to = kept_for_end[0] + of_warp, of_head = block % a.kv_heads * a.size;
  uint8_t* const rows = shared + of_warp * kRowBytes;
  store_tile<kD>(rows, Keys::kPanel, dk + to * a.row_k + of_head, a.row_k, count, a.size, mine.of_dk,
                 a.scale, a.scale, mine.lane);
  const float kept = kDropout ? a.kept : 1.0f;
  store_tile<kD>(rows + Keys::kTile, Keys::kPanel, dv + to * a.row_v + of_head, a.row_v, count, a.size,
                 mine.of_dv, kept, kept, mine.lane);
  if constexpr (kD <= kMostSummedWithDropout || !kDropout) {
    if (sums_k == nullptr) return;
    __syncthreads();
    const int64_t of_sums = block / a.kv_heads * a.row_k + of_head;
    sum_tile_rows<T>(shared, Keys::kPanel, sums_k + of_sums, kept_for_end[1], a.size);
    sum_tile_rows<T>(shared + Keys::kTile, Keys::kPanel, sums_v + of_sums, kept_for_end[1], a.size);
  }
}

}  // namespace hone::cuda
#endif
