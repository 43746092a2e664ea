// attention and attention_grad (engine/ops) in tiles of queries and keys, so that no score is kept
// (Dao et al., arXiv 2205.14135). All is computed in f32. A query's keys are one range of the packed
// keys, so that a tile may hold tokens of several segments. Blocks have 16 x 16 threads.
#pragma once

#include "engine/backends/cuda/kernels/kernel.cuh"
#include "engine/backends/cuda/kernels/philox.cuh"

namespace hone::cuda {

// What a query may see.
struct Seen {
  int first, end;  // its keys
  int last;        // key j is `last - j` places before it
  int start;       // the first key of its segment
  int position;    // its own place in the segment
};

__device__ __forceinline__ Seen seen_by(int64_t i, const int32_t* cu_q, const int32_t* cu_k,
                                        const Attention& a) {
  if (i < cu_q[0] || i >= cu_q[a.segments]) return {0, 0, 0, 0, 0};
  const int64_t s = segment_of(cu_q, a.segments, i);
  const int begin = cu_k[s], end = cu_k[s + 1], last = end - (cu_q[s + 1] - static_cast<int>(i));
  Seen r = {begin, end, last, begin, static_cast<int>(i) - cu_q[s]};
  if (a.causal && last + 1 < r.end) r.end = last + 1;
  if (a.window > 0) {
    const int window = static_cast<int>(a.window);
    if (last - window + 1 > r.first) r.first = last - window + 1;
    if (!a.causal && last + window < r.end) r.end = last + window;
  }
  return r;
}

// The row of a packed key in k and v, which may be pages.
__device__ __forceinline__ int64_t row_of_key(int j, const int32_t* cu_k, const int32_t* table,
                                              const Attention& a) {
  if (table == nullptr) return j;
  const int64_t s = segment_of(cu_k, a.segments, j), at = j - cu_k[s];
  return table[s * a.table_columns + at / a.page] * a.page + at % a.page;
}

// rows x kSize floats with a row of kSize + 1; zeros past the end and past the head's size.
template <int kSize, class T, class Row>
__device__ __forceinline__ void load_tile(float* tile, int rows, const T* from, int64_t step,
                                          int64_t count, int size, Row row_of) {
  for (int t = static_cast<int>(threadIdx.x); t < rows * kSize; t += kBlock) {
    const int row = t / kSize, d = t % kSize;
    tile[row * (kSize + 1) + d] =
        row < count && d < size ? wide(from[row_of(row) * step + d]) : 0.0f;
  }
}

// x[r][c] = row first + r of `left` times row tx + 16 c of `right`.
template <int kSize, int kRows>
__device__ __forceinline__ void dot_rows(float (&x)[kRows][2], const float* left, int first,
                                         const float* right, int tx) {
  for (int r = 0; r < kRows; ++r) x[r][0] = x[r][1] = 0;
  HONE_UNROLL_BY(4)
  for (int d = 0; d < kSize; ++d) {
    const float y0 = right[tx * (kSize + 1) + d], y1 = right[(tx + 16) * (kSize + 1) + d];
  HONE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const float v = left[(first + r) * (kSize + 1) + d];
      x[r][0] += v * y0;
      x[r][1] += v * y1;
    }
  }
}

// The score of a pair of which q k is known; -inf where the query does not see the key.
__device__ __forceinline__ float score_of(float product, const Seen& q, int j, int64_t head,
                                          const float* bias, const Attention& a) {
  if (j < q.first || j >= q.end) return -1.0f / 0.0f;
  const float score = product * a.scale;
  if (bias == nullptr) return score;
  const int64_t column = a.reach - 1 - (q.last - j), columns = 2 * a.reach - 1;
  if (column < 0 || column >= columns) return 0.0f / 0.0f;
  return score + bias[head * columns + column];
}

// 1 / (1 - p) where dropout keeps a pair, else 0. A counter has words for four columns, so the words of the
// last one are kept.
struct Dropped {
  Key key;
  Words words;
  uint32_t counter;
  int64_t row;  // head * tq + i; -1: there are no words yet
};
__device__ __forceinline__ float kept(Dropped& d, const int64_t* samples, int64_t i, int64_t head,
                                      const Seen& q, int j, const Attention& a) {
  const auto column = static_cast<uint32_t>(j - q.start);
  const uint32_t counter = counter_of(column);
  const int64_t row = head * a.tq + i;
  if (row != d.row || counter != d.counter) {
    const auto s = static_cast<uint64_t>(samples[i]);
    d.words = philox({{static_cast<uint32_t>(s),
                       (static_cast<uint32_t>(s >> 32) << 16) ^ static_cast<uint32_t>(head),
                       static_cast<uint32_t>(q.position), counter}},
                     d.key.k0, d.key.k1);
    d.counter = counter;
    d.row = row;
  }
  // No index: the words stay in registers.
  const uint32_t* w = d.words.w;
  const uint32_t pair = column / 32 % 2, low = pair == 0 ? w[0] : w[2], high = pair == 0 ? w[1] : w[3];
  return (column / 16 % 2 == 0 ? low : high) >= a.threshold ? a.kept : 0.0f;
}
__device__ __forceinline__ Dropped start_dropout(const int64_t* rng, const Attention& a) {
  Dropped d;
  d.key = rng != nullptr ? key_of(rng, a.place) : Key{0, 0};
  d.row = -1;
  return d;
}

// The keys that the queries of a tile see together.
__device__ __forceinline__ void range_of(const Seen* rows, int count, int& first, int& end) {
  first = 0x7fffffff;
  end = 0;
  for (int r = 0; r < count; ++r) {
    if (rows[r].first >= rows[r].end) continue;
    first = rows[r].first < first ? rows[r].first : first;
    end = rows[r].end > end ? rows[r].end : end;
  }
}

// Over as many neighbouring lanes, each of which gets it.
template <int kLanes>
__device__ __forceinline__ float largest_of(float x) {
  for (int step = kLanes / 2; step > 0; step /= 2) {
    const float y = __shfl_xor_sync(kAllLanes, x, step);
    x = y != y || y > x ? y : x;  // a NaN wins
  }
  return x;
}
template <int kLanes>
__device__ __forceinline__ float sum_of(float x) {
  for (int step = kLanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

template <int kSize, class T>
__device__ void attend(const T* q, const T* k, const T* v, const int32_t* cu_q,
                       const int32_t* cu_k, const int32_t* table, const int64_t* rng,
                       const int64_t* samples, const float* bias, T* out, float* lse, Attention a) {
  constexpr int kRows = 4, kQueries = 16 * kRows, kColumns = kSize / 16;
  HONE_DYNAMIC_SHARED(float, shared);
  float* const of_q = shared;
  float* const of_k = of_q + kQueries * (kSize + 1);  // keys, and then values
  float* const of_p = of_k + kKeyTile * (kSize + 1);
  __shared__ Seen rows[kQueries];
  const int tid = static_cast<int>(threadIdx.x), ty = tid / 16, tx = tid % 16;
  const int64_t i0 = static_cast<int64_t>(blockIdx.x) * kQueries, head = blockIdx.y;
  const int64_t kv_head = head / (a.heads / a.kv_heads);
  q += i0 * a.row_q + head * a.size;
  k += kv_head * a.size;
  v += kv_head * a.size;
  load_tile<kSize>(of_q, kQueries, q, a.row_q, a.tq - i0, a.size, [](int row) { return row; });
  for (int r = tid; r < kQueries; r += kBlock) rows[r] = seen_by(i0 + r, cu_q, cu_k, a);
  __syncthreads();
  int first, end;
  range_of(rows, kQueries, first, end);
  Dropped dropped = start_dropout(rng, a);
  const float nothing = -1.0f / 0.0f;
  float most[kRows], sum[kRows], o[kRows][kColumns];
  for (int r = 0; r < kRows; ++r) {
    most[r] = nothing;
    sum[r] = 0;
    for (int e = 0; e < kColumns; ++e) o[r][e] = 0;
  }
  for (int j0 = first; j0 < end; j0 += kKeyTile) {
    const auto row_of = [&](int row) { return row_of_key(j0 + row, cu_k, table, a); };
    load_tile<kSize>(of_k, kKeyTile, k, a.row_k, end - j0, a.size, row_of);
    __syncthreads();
    float s[kRows][2];
    dot_rows<kSize>(s, of_q, ty * kRows, of_k, tx);
  HONE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const Seen& row = rows[ty * kRows + r];
      for (int c = 0; c < 2; ++c) s[r][c] = score_of(s[r][c], row, j0 + tx + 16 * c, head, bias, a);
      const float here = largest_of<16>(s[r][1] != s[r][1] || s[r][1] > s[r][0] ? s[r][1] : s[r][0]);
      const float now = here != here || here > most[r] ? here : most[r];
      const bool is_empty = now == nothing;
      const float faded = most[r] == nothing ? 0.0f : expf(most[r] - now);
      float of_both = 0;
      for (int c = 0; c < 2; ++c) {
        const int j = j0 + tx + 16 * c;
        const bool is_there = !is_empty && j >= row.first && j < row.end;
        float p = is_there ? expf(s[r][c] - now) : 0.0f;
        of_both += p;
        if (is_there && rng != nullptr)
          p *= kept(dropped, samples, i0 + ty * kRows + r, head, row, j, a);
        of_p[(ty * kRows + r) * (kKeyTile + 1) + tx + 16 * c] = p;
      }
      most[r] = now;
      sum[r] = sum[r] * faded + sum_of<16>(of_both);
      for (int e = 0; e < kColumns; ++e) o[r][e] *= faded;
    }
    __syncthreads();
    load_tile<kSize>(of_k, kKeyTile, v, a.row_v, end - j0, a.size, row_of);
    __syncthreads();
  HONE_UNROLL_BY(4)
    for (int j = 0; j < kKeyTile; ++j) {
      float p[kRows];
      for (int r = 0; r < kRows; ++r) p[r] = of_p[(ty * kRows + r) * (kKeyTile + 1) + j];
      for (int e = 0; e < kColumns; ++e) {
        const float value = of_k[j * (kSize + 1) + tx + 16 * e];
        for (int r = 0; r < kRows; ++r) o[r][e] += p[r] * value;
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < kRows; ++r) {
    const int64_t i = i0 + ty * kRows + r;
    if (i >= a.tq) continue;
    const bool is_empty = most[r] == nothing;
    for (int e = 0; e < kColumns; ++e)
      if (tx + 16 * e < a.size)
        out[i * a.row_out + head * a.size + tx + 16 * e] =
            Narrow<T>::of(is_empty ? 0.0f : o[r][e] / sum[r]);
    if (tx == 0) lse[head * a.tq + i] = is_empty ? nothing : most[r] + logf(sum[r]);
  }
}

// delta[h,i] = out_i . dout_i, a warp for each.
template <class T>
__device__ void dot_outputs(const T* out, const T* dout, float* delta, int64_t tokens, int64_t heads,
                            int64_t size) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t w = first_of_all() / kWarp; w < tokens * heads; w += all_threads() / kWarp) {
    const int64_t i = w / heads, head = w % heads;
    float sum = 0;
    for (int64_t d = lane; d < size; d += kWarp)
      sum += wide(out[w * size + d]) * wide(dout[w * size + d]);
    sum = sum_warp(sum);
    if (lane == 0) delta[head * tokens + i] = sum;
  }
}

// p of a pair, and p (dp - delta): the gradient of its score. dp: dout v.
__device__ __forceinline__ float probability(float product, const Seen& q, int j, int64_t head,
                                             const float* bias, float lse, const Attention& a) {
  if (j < q.first || j >= q.end || lse == -1.0f / 0.0f) return 0.0f;
  return expf(score_of(product, q, j, head, bias, a) - lse);
}

// The gradients of a tile's scores to the bias of their distances: a thread for each diagonal. Queries whose
// keys are aligned alike are added together, as other ones may reach the same column from another diagonal.
template <int kQueries, int kKeys>
__device__ void add_diagonals(const float* of_s, const Seen* rows, int j0, float* bias_parts,
                              int64_t bias_columns, const Attention& a) {
  for (int r0 = 0; r0 < kQueries;) {
    const int shift = rows[r0].last - r0;
    int r1 = r0 + 1;
    while (r1 < kQueries && rows[r1].last - r1 == shift) ++r1;
    const int u = static_cast<int>(threadIdx.x) - (kQueries - 1);  // key - query
    const int64_t column = a.reach - 1 - shift + j0 + u;
    if (u < kKeys && column >= 0 && column < bias_columns && rows[r0].first < rows[r0].end) {
      float sum = 0;
      for (int r = r0; r < r1; ++r)
        if (u + r >= 0 && u + r < kKeys) sum += of_s[r * (kKeys + 1) + u + r];
      bias_parts[column] += sum;
    }
    __syncthreads();
    r0 = r1;
  }
}

// dq of a tile of queries, and of the bias this tile's part in f32: [tiles, heads, 2 reach - 1].
template <int kSize, class T>
__device__ void attend_back_q(const T* q, const T* k, const T* v, const T* dout, const float* lse,
                              const float* delta, const int32_t* cu_q, const int32_t* cu_k,
                              const int64_t* rng, const int64_t* samples, const float* bias, T* dq,
                              float* bias_parts, Attention a) {
  constexpr int kRows = 2, kQueries = 16 * kRows, kColumns = kSize / 16;
  HONE_DYNAMIC_SHARED(float, shared);
  float* const of_q = shared;
  float* const of_d = of_q + kQueries * (kSize + 1);
  float* const of_k = of_d + kQueries * (kSize + 1);  // values, and then keys
  float* const of_s = of_k + kKeyTile * (kSize + 1);
  __shared__ Seen rows[kQueries];
  const int tid = static_cast<int>(threadIdx.x), ty = tid / 16, tx = tid % 16;
  const int64_t i0 = static_cast<int64_t>(blockIdx.x) * kQueries, head = blockIdx.y;
  const int64_t kv_head = head / (a.heads / a.kv_heads), bias_columns = 2 * a.reach - 1;
  if (bias_parts != nullptr) {
    bias_parts += (blockIdx.x * static_cast<int64_t>(a.heads) + head) * bias_columns;
    for (int64_t c = tid; c < bias_columns; c += kBlock) bias_parts[c] = 0;
  }
  const auto same = [](int row) { return row; };
  load_tile<kSize>(of_q, kQueries, q + i0 * a.row_q + head * a.size, a.row_q, a.tq - i0, a.size,
                   same);
  load_tile<kSize>(of_d, kQueries, dout + i0 * a.row_out + head * a.size, a.row_out, a.tq - i0,
                   a.size, same);
  for (int r = tid; r < kQueries; r += kBlock) rows[r] = seen_by(i0 + r, cu_q, cu_k, a);
  __syncthreads();
  int first, end;
  range_of(rows, kQueries, first, end);
  Dropped dropped = start_dropout(rng, a);
  float of_lse[kRows], of_delta[kRows], o[kRows][kColumns];
  for (int r = 0; r < kRows; ++r) {
    const int64_t i = i0 + ty * kRows + r;
    of_lse[r] = i < a.tq ? lse[head * a.tq + i] : 0.0f;
    of_delta[r] = i < a.tq ? delta[head * a.tq + i] : 0.0f;
    for (int e = 0; e < kColumns; ++e) o[r][e] = 0;
  }
  for (int j0 = first; j0 < end; j0 += kKeyTile) {
    load_tile<kSize>(of_k, kKeyTile, v + j0 * a.row_v + kv_head * a.size, a.row_v, end - j0, a.size,
                     same);
    __syncthreads();
    float dp[kRows][2], s[kRows][2];
    dot_rows<kSize>(dp, of_d, ty * kRows, of_k, tx);
    __syncthreads();
    load_tile<kSize>(of_k, kKeyTile, k + j0 * a.row_k + kv_head * a.size, a.row_k, end - j0, a.size,
                     same);
    __syncthreads();
    dot_rows<kSize>(s, of_q, ty * kRows, of_k, tx);
    for (int r = 0; r < kRows; ++r) {
      const Seen& row = rows[ty * kRows + r];
      for (int c = 0; c < 2; ++c) {
        const int j = j0 + tx + 16 * c;
        const float p = probability(s[r][c], row, j, head, bias, of_lse[r], a);
        float d = dp[r][c];
        if (rng != nullptr && j >= row.first && j < row.end)
          d *= kept(dropped, samples, i0 + ty * kRows + r, head, row, j, a);
        of_s[(ty * kRows + r) * (kKeyTile + 1) + tx + 16 * c] = p * (d - of_delta[r]);
      }
    }
    __syncthreads();
  HONE_UNROLL_BY(4)
    for (int j = 0; j < kKeyTile; ++j) {
      float ds[kRows];
      for (int r = 0; r < kRows; ++r) ds[r] = of_s[(ty * kRows + r) * (kKeyTile + 1) + j];
      for (int e = 0; e < kColumns; ++e) {
        const float key = of_k[j * (kSize + 1) + tx + 16 * e];
        for (int r = 0; r < kRows; ++r) o[r][e] += ds[r] * key;
      }
    }
    if (bias_parts != nullptr)
      add_diagonals<kQueries, kKeyTile>(of_s, rows, j0, bias_parts, bias_columns, a);
    __syncthreads();
  }
  for (int r = 0; r < kRows; ++r) {
    const int64_t i = i0 + ty * kRows + r;
    for (int e = 0; e < kColumns && i < a.tq; ++e)
      if (tx + 16 * e < a.size)
        dq[i * a.row_q + head * a.size + tx + 16 * e] = Narrow<T>::of(o[r][e] * a.scale);
  }
}

// The queries that may see a key of a tile.
__device__ __forceinline__ void queries_of(int64_t j0, int tile, const int32_t* cu_q,
                                           const int32_t* cu_k, const Attention& a, int& first,
                                           int& end) {
  first = end = 0;
  const int keys = cu_k[a.segments];
  if (j0 < keys && j0 + tile > cu_k[0]) {
    const int begin = static_cast<int>(j0) > cu_k[0] ? static_cast<int>(j0) : cu_k[0];
    const int last = static_cast<int>(j0 + tile < keys ? j0 + tile : keys) - 1;
    const int64_t s0 = segment_of(cu_k, a.segments, begin), s1 = segment_of(cu_k, a.segments, last);
    first = cu_q[s0];
    end = cu_q[s1 + 1];
    const int aligned = cu_q[s0 + 1] - (cu_k[s0 + 1] - begin);
    if (a.causal && aligned > first) first = aligned;
    const int64_t seen = cu_q[s1 + 1] - (cu_k[s1 + 1] - last) + a.window;
    if (a.window > 0 && seen < end) end = seen > cu_q[s1] ? static_cast<int>(seen) : cu_q[s1];
  }
}

// dk and dv of a tile of keys: the sums over the heads that read them and over the queries that see them.
template <int kSize, class T>
__device__ void attend_back_kv(const T* q, const T* k, const T* v, const T* dout, const float* lse,
                               const float* delta, const int32_t* cu_q, const int32_t* cu_k,
                               const int64_t* rng, const int64_t* samples, const float* bias,
                               T* dk, T* dv, Attention a) {
  constexpr int kRows = 2, kQueries = 16 * kRows, kColumns = kSize / 16;
  HONE_DYNAMIC_SHARED(float, shared);
  float* const of_k = shared;
  float* const of_v = of_k + kKeyTile * (kSize + 1);
  float* const of_q = of_v + kKeyTile * (kSize + 1);  // queries, gradients of outputs, queries
  float* const of_p = of_q + kQueries * (kSize + 1);
  float* const of_s = of_p + kQueries * (kKeyTile + 1);
  __shared__ Seen rows[kQueries];
  const int tid = static_cast<int>(threadIdx.x), ty = tid / 16, tx = tid % 16;
  const int64_t j0 = static_cast<int64_t>(blockIdx.x) * kKeyTile, kv_head = blockIdx.y;
  const auto same = [](int row) { return row; };
  k += j0 * a.row_k + kv_head * a.size;
  v += j0 * a.row_v + kv_head * a.size;
  float of_dk[kRows][kColumns], of_dv[kRows][kColumns];
  for (int r = 0; r < kRows; ++r)
    for (int e = 0; e < kColumns; ++e) of_dk[r][e] = of_dv[r][e] = 0;
  int first, end;
  queries_of(j0, kKeyTile, cu_q, cu_k, a, first, end);
  load_tile<kSize>(of_k, kKeyTile, k, a.row_k, a.tk - j0, a.size, same);
  load_tile<kSize>(of_v, kKeyTile, v, a.row_v, a.tk - j0, a.size, same);
  Dropped dropped = start_dropout(rng, a);
  const int64_t group = a.heads / a.kv_heads;
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
    for (int i0 = first; i0 < end; i0 += kQueries) {
      const T* const tile_q = q + i0 * a.row_q + head * a.size;
      for (int r = tid; r < kQueries; r += kBlock) rows[r] = seen_by(i0 + r, cu_q, cu_k, a);
      load_tile<kSize>(of_q, kQueries, tile_q, a.row_q, end - i0, a.size, same);
      __syncthreads();
      float s[kRows][2], dp[kRows][2], kept_by[kRows][2];
      dot_rows<kSize>(s, of_q, ty * kRows, of_k, tx);
      for (int r = 0; r < kRows; ++r) {
        const Seen& row = rows[ty * kRows + r];
        const int64_t i = i0 + ty * kRows + r;
        const float of_lse = i < end ? lse[head * a.tq + i] : -1.0f / 0.0f;
        for (int c = 0; c < 2; ++c) {
          const int j = static_cast<int>(j0) + tx + 16 * c;
          s[r][c] = i < end ? probability(s[r][c], row, j, head, bias, of_lse, a) : 0.0f;
          kept_by[r][c] = 1;
          if (rng != nullptr && i < end && j >= row.first && j < row.end)
            kept_by[r][c] = kept(dropped, samples, i, head, row, j, a);
          of_p[(ty * kRows + r) * (kKeyTile + 1) + tx + 16 * c] = s[r][c] * kept_by[r][c];
        }
      }
      __syncthreads();
      load_tile<kSize>(of_q, kQueries, dout + i0 * a.row_out + head * a.size, a.row_out, end - i0,
                       a.size, same);
      __syncthreads();
      dot_rows<kSize>(dp, of_q, ty * kRows, of_v, tx);
      for (int r = 0; r < kRows; ++r) {
        const int64_t i = i0 + ty * kRows + r;
        const float of_delta = i < end ? delta[head * a.tq + i] : 0.0f;
        for (int c = 0; c < 2; ++c)
          of_s[(ty * kRows + r) * (kKeyTile + 1) + tx + 16 * c] =
              s[r][c] * (dp[r][c] * kept_by[r][c] - of_delta);
      }
      for (int i = 0; i < kQueries; ++i)
        for (int e = 0; e < kColumns; ++e) {
          const float d = of_q[i * (kSize + 1) + tx + 16 * e];
          for (int r = 0; r < kRows; ++r)
            of_dv[r][e] += of_p[i * (kKeyTile + 1) + ty * kRows + r] * d;
        }
      __syncthreads();
      load_tile<kSize>(of_q, kQueries, tile_q, a.row_q, end - i0, a.size, same);
      __syncthreads();
      for (int i = 0; i < kQueries; ++i)
        for (int e = 0; e < kColumns; ++e) {
          const float d = of_q[i * (kSize + 1) + tx + 16 * e];
          for (int r = 0; r < kRows; ++r)
            of_dk[r][e] += of_s[i * (kKeyTile + 1) + ty * kRows + r] * d;
        }
      __syncthreads();
    }
  for (int r = 0; r < kRows; ++r) {
    const int64_t j = j0 + ty * kRows + r;
    for (int e = 0; e < kColumns && j < a.tk; ++e) {
      const int d = tx + 16 * e;
      if (d >= a.size) continue;
      dk[j * a.row_k + kv_head * a.size + d] = Narrow<T>::of(of_dk[r][e] * a.scale);
      dv[j * a.row_v + kv_head * a.size + d] = Narrow<T>::of(of_dv[r][e]);
    }
  }
}

#define HONE_ATTENTION(name, T, size)                                                              \
  HONE_TILE_KERNEL(attention_##name##_##size, const T* q, const T* k, const T* v, const int32_t* cu_q,  \
              const int32_t* cu_k, const int32_t* table, const int64_t* rng,                       \
              const int64_t* samples, const float* bias, T* out, float* lse, Attention a) {        \
    attend<size>(q, k, v, cu_q, cu_k, table, rng, samples, bias, out, lse, a);                     \
  }                                                                                                \
  HONE_TILE_KERNEL(attention_back_q_##name##_##size, const T* q, const T* k, const T* v, const T* dout, \
              const float* lse, const float* delta, const int32_t* cu_q, const int32_t* cu_k,      \
              const int64_t* rng, const int64_t* samples, const float* bias, T* dq,                \
              float* bias_parts, Attention a) {                                                    \
    attend_back_q<size>(q, k, v, dout, lse, delta, cu_q, cu_k, rng, samples, bias, dq, bias_parts, \
                        a);                                                                        \
  }                                                                                                \
  HONE_TILE_KERNEL(attention_back_kv_##name##_##size, const T* q, const T* k, const T* v,               \
              const T* dout, const float* lse, const float* delta, const int32_t* cu_q,            \
              const int32_t* cu_k, const int64_t* rng, const int64_t* samples, const float* bias,  \
              T* dk, T* dv, Attention a) {                                                         \
    attend_back_kv<size>(q, k, v, dout, lse, delta, cu_q, cu_k, rng, samples, bias, dk, dv, a);    \
  }
#define HONE_ATTENTIONS(name, T)                                                             \
  HONE_ATTENTION(name, T, 64)                                                                \
  HONE_ATTENTION(name, T, 128)                                                               \
  HONE_KERNEL(attention_delta_##name, const T* out, const T* dout, float* delta, int64_t tokens, \
              int64_t heads, int64_t size) {                                                 \
    dot_outputs(out, dout, delta, tokens, heads, size);                                      \
  }
HONE_ATTENTIONS(f32, float)
HONE_ATTENTIONS(bf16, bf16)
HONE_ATTENTIONS(f16, f16)

}  // namespace hone::cuda
