// attention and attention_grad on tensor cores, in bf16 or f16, to which operands in f32 are rounded: the
// tiles of attention.cuh, with products by warps of which each has 16 rows of a tile (Dao, arXiv 2307.08691).
// Probabilities and their gradients are rounded before they are multiplied; all else is in f32. Nothing is
// summed by atomics, so bits are the same in each run. Blocks have kFlashBlock threads.
#include "engine/backends/cuda/kernels/attention.cuh"
#include "engine/backends/cuda/kernels/matrix.cuh"

namespace hone::cuda {

constexpr int kRowPad = 8;  // elements: rows of a tile begin in other banks

// Eight elements, rounded to T.
template <class T>
__device__ __forceinline__ SixteenBytes eight_of(const T* from) {
  return *reinterpret_cast<const SixteenBytes*>(from);
}
template <class T>
__device__ __forceinline__ SixteenBytes eight_of(const float* from) {
  SixteenBytes piece;
  for (int p = 0; p < 2; ++p) {
    const SixteenBytes four = reinterpret_cast<const SixteenBytes*>(from)[p];
    for (int e = 0; e < 2; ++e)
      piece.words[2 * p + e] = pack<T>(__uint_as_float(four.words[2 * e]),
                                       __uint_as_float(four.words[2 * e + 1]));
  }
  return piece;
}
template <class T>
__device__ __forceinline__ void store_pair(T* to, float first, float second) {
  *reinterpret_cast<uint32_t*>(to) = pack<T>(first, second);
}
__device__ __forceinline__ void store_pair(float* to, float first, float second) {
  to[0] = first;
  to[1] = second;
}

// rows x kSize elements; zeros past the end and past the head's size, which is a multiple of eight.
template <int kSize, class T, class In, class Row>
__device__ __forceinline__ void load_rows(T* tile, int rows, const In* from, int64_t step,
                                          int64_t count, int size, Row row_of) {
  constexpr int kPieces = kSize / 8;
  for (int t = static_cast<int>(threadIdx.x); t < rows * kPieces; t += kFlashBlock) {
    const int row = t / kPieces, d = t % kPieces * 8;
    SixteenBytes piece = {{0, 0, 0, 0}};
    if (row < count && d < size) piece = eight_of<T>(from + row_of(row) * step + d);
    *reinterpret_cast<SixteenBytes*>(tile + row * (kSize + kRowPad) + d) = piece;
  }
}

// 1 where dropout keeps a pair of the tile.
__device__ __forceinline__ void fill_kept(uint8_t* tile, int queries, int keys, const Seen* rows,
                                          int64_t i0, int j0, int64_t head, const Dropped& start,
                                          const int64_t* samples, const Attention& a) {
  for (int t = static_cast<int>(threadIdx.x); t < queries * 16; t += kFlashBlock) {
    const int r = t / 16;
    const Seen& row = rows[r];
    Dropped d = start;
    for (int c = t % 16; c < keys; c += 16) {
      const int j = j0 + c;
      tile[r * keys + c] =
          j >= row.first && j < row.end && kept(d, samples, i0 + r, head, row, j, a) != 0 ? 1 : 0;
    }
  }
}

// z[t] = 16 rows of `left` times rows 8 t to 8 t + 7 of `right`, over kSize columns.
template <int kSize, int kTiles, class T>
__device__ __forceinline__ void dot_tiles(float (&z)[kTiles][4], const T* left, const T* right) {
  constexpr int kStep = kSize + kRowPad;
  HONE_UNROLL
  for (int t = 0; t < kTiles; ++t)
    for (int e = 0; e < 4; ++e) z[t][e] = 0;
  HONE_UNROLL_BY(4)
  for (int d = 0; d < kSize; d += 16) {
    uint32_t x[4];
    load_left(x, left + d, kStep);
    HONE_UNROLL
    for (int t = 0; t < kTiles; t += 2) {
      uint32_t y[4];
      load_right_rows(y, right + t * 8 * kStep + d, kStep);
      multiply_onto<T>(z[t], x, y[0], y[1]);
      multiply_onto<T>(z[t + 1], x, y[2], y[3]);
    }
  }
}

// z += x, which is rounded, times the rows of `right`.
template <int kSize, int kTiles, class T>
__device__ __forceinline__ void add_product(float (&z)[kSize / 8][4], const float (&x)[kTiles][4],
                                            const T* right) {
  constexpr int kStep = kSize + kRowPad;
  HONE_UNROLL
  for (int t = 0; t < kTiles; t += 2) {
    uint32_t left[4];
    pack_left<T>(left, x[t], x[t + 1]);
    HONE_UNROLL
    for (int n = 0; n < kSize / 8; n += 2) {
      uint32_t y[4];
      load_right(y, right + t * 8 * kStep + n * 8, kStep);
      multiply_onto<T>(z[n], left, y[0], y[1]);
      multiply_onto<T>(z[n + 1], left, y[2], y[3]);
    }
  }
}

// Rows `first` and `first` + 8 of this lane, below `count`, times `factor`.
template <int kSize, class In>
__device__ __forceinline__ void store_rows(In* to, int64_t step, int64_t first, int64_t count,
                                           int size, const float (&z)[kSize / 8][4],
                                           const float (&factor)[2]) {
  const int column = static_cast<int>(threadIdx.x) % 4 * 2;
  for (int half = 0; half < 2; ++half) {
    const int64_t row = first + 8 * half;
    if (row >= count) continue;
    HONE_UNROLL
    for (int n = 0; n < kSize / 8; ++n)
      if (n * 8 < size)
        store_pair(to + row * step + n * 8 + column, z[n][2 * half] * factor[half],
                   z[n][2 * half + 1] * factor[half]);
  }
}

template <int kSize, class T, class In>
__device__ void attend_by_warps(const In* q, const In* k, const In* v, const int32_t* cu_q,
                                const int32_t* cu_k, const int32_t* table, const int64_t* rng,
                                const int64_t* samples, const float* bias, In* out, float* lse,
                                Attention a) {
  constexpr int kStep = kSize + kRowPad, kKeys = kFlashTile, kTiles = kKeys / 8;
  HONE_DYNAMIC_SHARED(T, shared);
  T* const of_q = shared;
  T* const of_k = of_q + kFlashTile * kStep;
  T* const of_v = of_k + kKeys * kStep;
  uint8_t* const is_kept = reinterpret_cast<uint8_t*>(of_v + kKeys * kStep);
  __shared__ Seen rows[kFlashTile];
  const int tid = static_cast<int>(threadIdx.x), lane = tid % kWarp;
  const int mine = tid / kWarp * 16 + lane / 4, column = lane % 4 * 2;  // the first of two rows
  const int64_t i0 = static_cast<int64_t>(blockIdx.x) * kFlashTile, head = blockIdx.y;
  const int64_t kv_head = head / (a.heads / a.kv_heads);
  k += kv_head * a.size;
  v += kv_head * a.size;
  load_rows<kSize>(of_q, kFlashTile, q + i0 * a.row_q + head * a.size, a.row_q, a.tq - i0, a.size,
                   [](int row) { return row; });
  for (int r = tid; r < kFlashTile; r += kFlashBlock) rows[r] = seen_by(i0 + r, cu_q, cu_k, a);
  __syncthreads();
  int first, end;
  range_of(rows, kFlashTile, first, end);
  const Dropped dropped = start_dropout(rng, a);
  const float nothing = -1.0f / 0.0f;
  float most[2] = {nothing, nothing}, sum[2] = {0, 0}, o[kSize / 8][4];
  for (int n = 0; n < kSize / 8; ++n)
    for (int e = 0; e < 4; ++e) o[n][e] = 0;
  for (int j0 = first; j0 < end; j0 += kKeys) {
    const auto row_of = [&](int row) { return row_of_key(j0 + row, cu_k, table, a); };
    load_rows<kSize>(of_k, kKeys, k, a.row_k, end - j0, a.size, row_of);
    load_rows<kSize>(of_v, kKeys, v, a.row_v, end - j0, a.size, row_of);
    if (rng != nullptr)
      fill_kept(is_kept, kFlashTile, kKeys, rows, i0, j0, head, dropped, samples, a);
    __syncthreads();
    float s[kTiles][4];
    dot_tiles<kSize>(s, of_q + tid / kWarp * 16 * kStep, of_k);
    HONE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int r = mine + 8 * half;
      const Seen& row = rows[r];
      float here = nothing;
      HONE_UNROLL
      for (int t = 0; t < kTiles; ++t)
        for (int e = 0; e < 2; ++e) {
          float& x = s[t][2 * half + e];
          x = score_of(x, row, j0 + t * 8 + column + e, head, bias, a);
          here = x != x || x > here ? x : here;
        }
      here = largest_of<4>(here);
      const float now = here != here || here > most[half] ? here : most[half];
      const bool is_empty = now == nothing;
      const float faded = most[half] == nothing ? 0.0f : expf(most[half] - now);
      float of_all = 0;
      HONE_UNROLL
      for (int t = 0; t < kTiles; ++t)
        for (int e = 0; e < 2; ++e) {
          const int c = t * 8 + column + e, j = j0 + c;
          const bool is_there = !is_empty && j >= row.first && j < row.end;
          float& x = s[t][2 * half + e];
          x = is_there ? expf(x - now) : 0.0f;
          of_all += x;
          if (rng != nullptr) x = is_kept[r * kKeys + c] != 0 ? x * a.kept : 0.0f;
        }
      most[half] = now;
      sum[half] = sum[half] * faded + sum_of<4>(of_all);
      for (int n = 0; n < kSize / 8; ++n) {
        o[n][2 * half] *= faded;
        o[n][2 * half + 1] *= faded;
      }
    }
    add_product<kSize>(o, s, of_v);
    __syncthreads();
  }
  float factor[2];
  for (int half = 0; half < 2; ++half) {
    const int64_t i = i0 + mine + 8 * half;
    const bool is_empty = most[half] == nothing;
    factor[half] = is_empty ? 0.0f : 1.0f / sum[half];
    if (column == 0 && i < a.tq)
      lse[head * a.tq + i] = is_empty ? nothing : most[half] + logf(sum[half]);
  }
  store_rows<kSize>(out + head * a.size, a.row_out, i0 + mine, a.tq, a.size, o, factor);
}

// dq of a tile of queries, and of the bias this tile's part in f32: [tiles, heads, 2 reach - 1].
template <int kSize, class T, class In>
__device__ void attend_back_q_by_warps(const In* q, const In* k, const In* v, const In* dout,
                                       const float* lse, const float* delta, const int32_t* cu_q,
                                       const int32_t* cu_k, const int64_t* rng,
                                       const int64_t* samples, const float* bias, In* dq,
                                       float* bias_parts, Attention a) {
  constexpr int kStep = kSize + kRowPad, kKeys = kFlashBackTile, kTiles = kKeys / 8;
  HONE_DYNAMIC_SHARED(T, shared);
  T* const of_q = shared;
  T* const of_d = of_q + kFlashTile * kStep;
  T* const of_k = of_d + kFlashTile * kStep;
  T* const of_v = of_k + kKeys * kStep;
  float* const of_s = reinterpret_cast<float*>(of_v + kKeys * kStep);
  uint8_t* const is_kept = reinterpret_cast<uint8_t*>(of_s + kFlashTile * (kKeys + 1));
  __shared__ Seen rows[kFlashTile];
  const int tid = static_cast<int>(threadIdx.x), lane = tid % kWarp;
  const int mine = tid / kWarp * 16 + lane / 4, column = lane % 4 * 2;
  const int64_t i0 = static_cast<int64_t>(blockIdx.x) * kFlashTile, head = blockIdx.y;
  const int64_t kv_head = head / (a.heads / a.kv_heads), bias_columns = 2 * a.reach - 1;
  if (bias_parts != nullptr) {
    bias_parts += (blockIdx.x * static_cast<int64_t>(a.heads) + head) * bias_columns;
    for (int64_t c = tid; c < bias_columns; c += kFlashBlock) bias_parts[c] = 0;
  }
  const auto same = [](int row) { return row; };
  load_rows<kSize>(of_q, kFlashTile, q + i0 * a.row_q + head * a.size, a.row_q, a.tq - i0, a.size,
                   same);
  load_rows<kSize>(of_d, kFlashTile, dout + i0 * a.row_out + head * a.size, a.row_out, a.tq - i0,
                   a.size, same);
  for (int r = tid; r < kFlashTile; r += kFlashBlock) rows[r] = seen_by(i0 + r, cu_q, cu_k, a);
  __syncthreads();
  int first, end;
  range_of(rows, kFlashTile, first, end);
  const Dropped dropped = start_dropout(rng, a);
  float of_lse[2], of_delta[2], o[kSize / 8][4];
  for (int half = 0; half < 2; ++half) {
    const int64_t i = i0 + mine + 8 * half;
    of_lse[half] = i < a.tq ? lse[head * a.tq + i] : 0.0f;
    of_delta[half] = i < a.tq ? delta[head * a.tq + i] : 0.0f;
  }
  for (int n = 0; n < kSize / 8; ++n)
    for (int e = 0; e < 4; ++e) o[n][e] = 0;
  for (int j0 = first; j0 < end; j0 += kKeys) {
    load_rows<kSize>(of_k, kKeys, k + j0 * a.row_k + kv_head * a.size, a.row_k, end - j0, a.size,
                     same);
    load_rows<kSize>(of_v, kKeys, v + j0 * a.row_v + kv_head * a.size, a.row_v, end - j0, a.size,
                     same);
    if (rng != nullptr)
      fill_kept(is_kept, kFlashTile, kKeys, rows, i0, j0, head, dropped, samples, a);
    __syncthreads();
    float s[kTiles][4], dp[kTiles][4];
    dot_tiles<kSize>(s, of_q + tid / kWarp * 16 * kStep, of_k);
    dot_tiles<kSize>(dp, of_d + tid / kWarp * 16 * kStep, of_v);
    HONE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int r = mine + 8 * half;
      const Seen& row = rows[r];
      HONE_UNROLL
      for (int t = 0; t < kTiles; ++t)
        for (int e = 0; e < 2; ++e) {
          const int c = t * 8 + column + e;
          float& x = s[t][2 * half + e];
          const float p = probability(x, row, j0 + c, head, bias, of_lse[half], a);
          float d = dp[t][2 * half + e];
          if (rng != nullptr) d = is_kept[r * kKeys + c] != 0 ? d * a.kept : 0.0f;
          x = p * (d - of_delta[half]);
          if (bias_parts != nullptr) of_s[r * (kKeys + 1) + c] = x;
        }
    }
    add_product<kSize>(o, s, of_k);
    if (bias_parts != nullptr) {
      __syncthreads();
      add_diagonals<kFlashTile, kKeys>(of_s, rows, j0, bias_parts, bias_columns, a);
    }
    __syncthreads();
  }
  const float factor[2] = {a.scale, a.scale};
  store_rows<kSize>(dq + head * a.size, a.row_q, i0 + mine, a.tq, a.size, o, factor);
}

// dk and dv of a tile of keys: the sums over the heads that read them and over the queries that see them.
template <int kSize, class T, class In>
__device__ void attend_back_kv_by_warps(const In* q, const In* k, const In* v, const In* dout,
                                        const float* lse, const float* delta, const int32_t* cu_q,
                                        const int32_t* cu_k, const int64_t* rng,
                                        const int64_t* samples, const float* bias, In* dk, In* dv,
                                        Attention a) {
  constexpr int kStep = kSize + kRowPad, kQueries = kFlashBackTile, kTiles = kQueries / 8;
  HONE_DYNAMIC_SHARED(T, shared);
  T* const of_k = shared;
  T* const of_v = of_k + kFlashTile * kStep;
  T* const of_q = of_v + kFlashTile * kStep;
  T* const of_d = of_q + kQueries * kStep;
  uint8_t* const is_kept = reinterpret_cast<uint8_t*>(of_d + kQueries * kStep);
  __shared__ Seen rows[kQueries];
  __shared__ float of_lse[kQueries], of_delta[kQueries];
  const int tid = static_cast<int>(threadIdx.x), lane = tid % kWarp;
  const int mine = tid / kWarp * 16 + lane / 4, column = lane % 4 * 2;
  const int64_t j0 = static_cast<int64_t>(blockIdx.x) * kFlashTile, kv_head = blockIdx.y;
  const auto same = [](int row) { return row; };
  load_rows<kSize>(of_k, kFlashTile, k + j0 * a.row_k + kv_head * a.size, a.row_k, a.tk - j0,
                   a.size, same);
  load_rows<kSize>(of_v, kFlashTile, v + j0 * a.row_v + kv_head * a.size, a.row_v, a.tk - j0,
                   a.size, same);
  float of_dk[kSize / 8][4], of_dv[kSize / 8][4];
  for (int n = 0; n < kSize / 8; ++n)
    for (int e = 0; e < 4; ++e) of_dk[n][e] = of_dv[n][e] = 0;
  int first, end;
  queries_of(j0, kFlashTile, cu_q, cu_k, a, first, end);
  const Dropped dropped = start_dropout(rng, a);
  const int64_t group = a.heads / a.kv_heads;
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
    for (int i0 = first; i0 < end; i0 += kQueries) {
      load_rows<kSize>(of_q, kQueries, q + i0 * a.row_q + head * a.size, a.row_q, end - i0, a.size,
                       same);
      load_rows<kSize>(of_d, kQueries, dout + i0 * a.row_out + head * a.size, a.row_out, end - i0,
                       a.size, same);
      for (int r = tid; r < kQueries; r += kFlashBlock) {
        const int64_t i = i0 + r;
        rows[r] = seen_by(i, cu_q, cu_k, a);
        of_lse[r] = i < end ? lse[head * a.tq + i] : -1.0f / 0.0f;
        of_delta[r] = i < end ? delta[head * a.tq + i] : 0.0f;
      }
      __syncthreads();
      if (rng != nullptr) {
        fill_kept(is_kept, end - i0 < kQueries ? end - i0 : kQueries, kFlashTile, rows, i0,
                  static_cast<int>(j0), head, dropped, samples, a);
        __syncthreads();
      }
      float s[kTiles][4], dp[kTiles][4];
      dot_tiles<kSize>(s, of_k + tid / kWarp * 16 * kStep, of_q);
      dot_tiles<kSize>(dp, of_v + tid / kWarp * 16 * kStep, of_d);
      HONE_UNROLL
      for (int t = 0; t < kTiles; ++t)
        for (int e = 0; e < 4; ++e) {
          const int r = t * 8 + column + e % 2, c = mine + e / 2 * 8;
          const float p = probability(s[t][e], rows[r], static_cast<int>(j0) + c, head, bias,
                                      of_lse[r], a);
          float by = 1;
          if (rng != nullptr)
            by = i0 + r < end && is_kept[r * kFlashTile + c] != 0 ? a.kept : 0.0f;
          s[t][e] = p * by;
          dp[t][e] = p * (dp[t][e] * by - of_delta[r]);
        }
      add_product<kSize>(of_dv, s, of_d);
      add_product<kSize>(of_dk, dp, of_q);
      __syncthreads();
    }
  const float scaled[2] = {a.scale, a.scale}, once[2] = {1, 1};
  store_rows<kSize>(dk + kv_head * a.size, a.row_k, j0 + mine, a.tk, a.size, of_dk, scaled);
  store_rows<kSize>(dv + kv_head * a.size, a.row_v, j0 + mine, a.tk, a.size, of_dv, once);
}

#define HONE_WARP_ATTENTION(name, In, T, size)                                                     \
  HONE_WARPS_KERNEL(warp_attention_##name##_##size, const In* q, const In* k, const In* v,         \
                    const int32_t* cu_q, const int32_t* cu_k, const int32_t* table,                \
                    const int64_t* rng, const int64_t* samples, const float* bias, In* out,        \
                    float* lse, Attention a) {                                                     \
    HONE_ON_TENSOR_CORES(attend_by_warps<size, T>(q, k, v, cu_q, cu_k, table, rng, samples, bias,  \
                                                  out, lse, a));                                   \
  }                                                                                                \
  HONE_WARPS_KERNEL(warp_attention_back_q_##name##_##size, const In* q, const In* k, const In* v,  \
                    const In* dout, const float* lse, const float* delta, const int32_t* cu_q,     \
                    const int32_t* cu_k, const int64_t* rng, const int64_t* samples,               \
                    const float* bias, In* dq, float* bias_parts, Attention a) {                   \
    HONE_ON_TENSOR_CORES(attend_back_q_by_warps<size, T>(                                          \
        q, k, v, dout, lse, delta, cu_q, cu_k, rng, samples, bias, dq, bias_parts, a));            \
  }                                                                                                \
  HONE_WARPS_KERNEL(warp_attention_back_kv_##name##_##size, const In* q, const In* k, const In* v, \
                    const In* dout, const float* lse, const float* delta, const int32_t* cu_q,     \
                    const int32_t* cu_k, const int64_t* rng, const int64_t* samples,               \
                    const float* bias, In* dk, In* dv, Attention a) {                              \
    HONE_ON_TENSOR_CORES(attend_back_kv_by_warps<size, T>(                                         \
        q, k, v, dout, lse, delta, cu_q, cu_k, rng, samples, bias, dk, dv, a));                    \
  }
#define HONE_WARP_ATTENTIONS(name, In, T) \
  HONE_WARP_ATTENTION(name, In, T, 64)    \
  HONE_WARP_ATTENTION(name, In, T, 128)
HONE_WARP_ATTENTIONS(bf16, bf16, bf16)
HONE_WARP_ATTENTIONS(f16, f16, f16)
HONE_WARP_ATTENTIONS(f32_as_bf16, float, bf16)
HONE_WARP_ATTENTIONS(f32_as_f16, float, f16)

}  // namespace hone::cuda
