// attention (engine/ops) of few queries over pages of a cache, as in decoding. A block has a query, up to kPagedHeads
// heads that share their keys, and one of `splits` parts of the keys that the query sees, so that a long cache is
// read by many blocks even for one query. Its warps take 32 keys by turns: a lane multiplies a whole key, and then
// has some channels of the sum of the values. All is computed in f32; parts are added in their order.
#include "engine/backends/cuda/kernels/attention.cuh"

namespace hone::cuda {

constexpr int kPagedWarps = kBlock / kWarp;

// Sums of exp(score - most) and of the values times them, over some keys; most is -inf where there is none.
template <int kEach>
struct PagedSums {
  float most, sum, o[kEach];
};
__device__ __forceinline__ float fading(float most, float now) {
  return most == -1.0f / 0.0f ? 0.0f : expf(most - now);
}

// q of each head times a key. Rows of keys are read in packs where they are whole.
template <int kSize, class T>
__device__ __forceinline__ void dot_key(float (&s)[kPagedHeads], const float (&of_q)[kPagedHeads][kSize],
                                        const T* key, int size, bool whole) {
  constexpr int N = kPacked<T, T>;
  HONE_UNROLL
  for (int h = 0; h < kPagedHeads; ++h) s[h] = 0;
  if (!whole) {
    for (int d = 0; d < size; ++d)
      for (int h = 0; h < kPagedHeads; ++h) s[h] += of_q[h][d] * wide(key[d]);
    return;
  }
  for (int d = 0; d < size; d += N) {
    float x[N];
    load<N>(x, key + d);
    HONE_UNROLL
    for (int e = 0; e < N; ++e)
      HONE_UNROLL
      for (int h = 0; h < kPagedHeads; ++h) s[h] += of_q[h][d + e] * x[e];
  }
}

// The sums of a warp over its keys from `begin` on, below `end`.
template <int kSize, class T, class Row>
__device__ __forceinline__ void sum_keys(PagedSums<kSize / kWarp> (&of)[kPagedHeads],
                                         const float (&of_q)[kPagedHeads][kSize], const T* k,
                                         const T* v, int begin, int end, const Attention& a, Row row_of) {
  constexpr int kEach = kSize / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool whole = a.size % kPacked<T, T> == 0 && a.row_k % kPacked<T, T> == 0 && is_whole(k);
  for (int j0 = begin; j0 < end; j0 += kBlock) {
    const bool is_there = j0 + lane < end;
    const int row = is_there ? row_of(j0 + lane) : 0;
    float p[kPagedHeads] = {};
    if (is_there) dot_key<kSize>(p, of_q, k + row * a.row_k, a.size, whole);
    HONE_UNROLL
    for (int h = 0; h < kPagedHeads; ++h) {
      const float here = largest_of<kWarp>(is_there ? p[h] : -1.0f / 0.0f);
      const float now = here != here || here > of[h].most ? here : of[h].most;
      const float faded = fading(of[h].most, now);
      p[h] = is_there && now != -1.0f / 0.0f ? expf(p[h] - now) : 0.0f;
      of[h].sum = of[h].sum * faded + sum_of<kWarp>(p[h]);
      of[h].most = now;
      HONE_UNROLL
      for (int e = 0; e < kEach; ++e) of[h].o[e] *= faded;
    }
    const int count = end - j0 < kWarp ? end - j0 : kWarp;
    for (int l = 0; l < count; ++l) {
      const T* const value = v + __shfl_sync(kAllLanes, row, l) * a.row_v;
      float x[kEach];
      HONE_UNROLL
      for (int e = 0; e < kEach; ++e)
        x[e] = e * kWarp + lane < a.size ? wide(value[e * kWarp + lane]) : 0.0f;
      HONE_UNROLL
      for (int h = 0; h < kPagedHeads; ++h) {
        const float share = __shfl_sync(kAllLanes, p[h], l);
        HONE_UNROLL
        for (int e = 0; e < kEach; ++e) of[h].o[e] += share * x[e];
      }
    }
  }
}

// Channel d of the sums of `count` parts, each {most, sum, o[...]}, and their own most and sum.
__device__ __forceinline__ float add_paged(const float* parts, int count, int64_t step, int d,
                                           float& most, float& sum) {
  most = -1.0f / 0.0f;
  for (int w = 0; w < count; ++w) {
    const float here = parts[w * step];
    most = here != here || here > most ? here : most;
  }
  float o = 0;
  sum = 0;
  for (int w = 0; w < count; ++w) {
    const float faded = fading(parts[w * step], most);
    sum += parts[w * step + 1] * faded;
    o += parts[w * step + 2 + d] * faded;
  }
  return o;
}

// The sums of a block's warps: the result, or a part of it if `parts` is not null.
template <int kSize, class T>
__device__ __forceinline__ void put_paged(const float (&of_warps)[kPagedWarps][kPagedHeads][kSize],
                                          int heads, int first_head, T* out, float* lse,
                                          float* parts, const Attention& a) {
  const int64_t i = blockIdx.x;
  for (int t = static_cast<int>(threadIdx.x); t < heads * kSize; t += kBlock) {
    const int h = t / kSize, d = t % kSize;
    if (d >= a.size) continue;
    float most, sum;
    const float o = add_paged(of_warps[0][h], kPagedWarps, kPagedHeads * kSize, d, most, sum);
    const int64_t head = first_head + h;
    if (parts == nullptr) {
      out[i * a.row_out + head * a.size + d] = Narrow<T>::of(sum > 0 || sum != sum ? o / sum : 0.0f);
      if (d == 0) lse[head * a.tq + i] = most + logf(sum);
      continue;
    }
    float* const to = parts + ((int64_t{blockIdx.z} * a.tq + i) * a.heads + head) * (a.size + 2);
    to[2 + d] = o;
    if (d == 0) to[0] = most;
    if (d == 0) to[1] = sum;
  }
}

template <int kSize, class T>
__device__ __forceinline__ void attend_pages(const T* q, const T* k, const T* v, const int32_t* cu_q,
                                             const int32_t* cu_k, const int32_t* table, T* out,
                                             float* lse, float* parts, const Attention& a) {
  constexpr int kEach = kSize / kWarp;
  __shared__ float of_q[kPagedHeads][kSize];
  __shared__ float of_warps[kPagedWarps][kPagedHeads][kSize + 2];
  const int tid = static_cast<int>(threadIdx.x), lane = tid % kWarp, warp = tid / kWarp;
  const int group = a.heads / a.kv_heads, packs = (group + kPagedHeads - 1) / kPagedHeads;
  const int kv_head = static_cast<int>(blockIdx.y) / packs, pack = static_cast<int>(blockIdx.y) % packs;
  const int first_head = kv_head * group + pack * kPagedHeads;
  const int left = group - pack * kPagedHeads, heads = left < kPagedHeads ? left : kPagedHeads;
  const int64_t i = blockIdx.x;
  for (int t = tid; t < kPagedHeads * kSize; t += kBlock) {
    const int h = t / kSize, d = t % kSize;
    const bool is_there = h < heads && d < a.size;
    of_q[h][d] = is_there ? wide(q[i * a.row_q + (first_head + h) * a.size + d]) * a.scale : 0.0f;
  }
  __syncthreads();
  const Seen seen = seen_by(i, cu_q, cu_k, a);
  const int count = seen.end > seen.first ? seen.end - seen.first : 0;
  const int splits = static_cast<int>(gridDim.z), each = (count + splits - 1) / splits;
  const int begin = seen.first + static_cast<int>(blockIdx.z) * each;
  const int end = begin + each < seen.first + count ? begin + each : seen.first + count;
  const int32_t* pages = table;
  if (count > 0) pages += segment_of(cu_q, a.segments, i) * a.table_columns;
  PagedSums<kEach> of[kPagedHeads];
  for (int h = 0; h < kPagedHeads; ++h) {
    of[h].most = -1.0f / 0.0f;
    of[h].sum = 0;
    for (int e = 0; e < kEach; ++e) of[h].o[e] = 0;
  }
  const int page = static_cast<int>(a.page);
  sum_keys<kSize>(of, of_q, k + int64_t{kv_head} * a.size, v + int64_t{kv_head} * a.size,
                  begin + warp * kWarp, end, a, [&](int j) {
                    const int at = j - seen.start;
                    return pages[at / page] * page + at % page;
                  });
  HONE_UNROLL
  for (int h = 0; h < kPagedHeads; ++h) {
    float* const to = of_warps[warp][h];
    if (lane == 0) {
      to[0] = of[h].most;
      to[1] = of[h].sum;
    }
    HONE_UNROLL
    for (int e = 0; e < kEach; ++e) to[2 + e * kWarp + lane] = of[h].o[e];
  }
  __syncthreads();
  put_paged(of_warps, heads, first_head, out, lse, parts, a);
}

// The sums of the parts of all keys.
template <class T>
__device__ __forceinline__ void sum_pages(const float* parts, T* out, float* lse, int splits,
                                          const Attention& a) {
  const int64_t rows = a.tq * a.heads, step = rows * (a.size + 2);
  for (int64_t t = first_of_all(); t < rows * a.size; t += all_threads()) {
    const int64_t row = t / a.size, i = row / a.heads, head = row % a.heads;
    const int d = static_cast<int>(t % a.size);
    float most, sum;
    const float o = add_paged(parts + row * (a.size + 2), splits, step, d, most, sum);
    out[i * a.row_out + head * a.size + d] = Narrow<T>::of(sum > 0 || sum != sum ? o / sum : 0.0f);
    if (d == 0) lse[head * a.tq + i] = most + logf(sum);
  }
}

#define HONE_PAGED_SIZE(name, T, size)                                                            \
  HONE_TILE_KERNEL(paged_attention_##name##_##size, const T* q, const T* k, const T* v,           \
              const int32_t* cu_q, const int32_t* cu_k, const int32_t* table, T* out, float* lse, \
              float* parts, Attention a) {                                                        \
    attend_pages<size>(q, k, v, cu_q, cu_k, table, out, lse, parts, a);                           \
  }
#define HONE_PAGED(name, T)                                                                  \
  HONE_PAGED_SIZE(name, T, 64)                                                               \
  HONE_PAGED_SIZE(name, T, 128)                                                              \
  HONE_ROW_KERNEL(sum_pages_##name, const float* parts, T* out, float* lse, int splits,          \
              Attention a) {                                                                 \
    sum_pages(parts, out, lse, splits, a);                                                   \
  }
HONE_PAGED(f32, float)
HONE_PAGED(bf16, bf16)
HONE_PAGED(f16, f16)

}  // namespace hone::cuda
