// Sums, maxima, sums of rows. All orders are fixed, so bits are too.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// A block for each element of the result, over `inner` elements of the input.
template <class T, class W, class F>
__device__ void reduce_all(const T* in, T* out, int64_t n, Strided kept, Strided gone,
                           int64_t inner, W start, F f) {
  for (int64_t o = blockIdx.x; o < n; o += gridDim.x) {
    const int64_t base = place_of(kept, o);
    W sum = start;
    for (int64_t i = threadIdx.x; i < inner; i += kBlock)
      sum = f(sum, static_cast<W>(wide(in[base + place_of(gone, i)])));
    sum = reduce_block(sum, f);
    if (threadIdx.x == 0) out[o] = Narrow<T>::of(sum);
  }
}

struct Plus {
  template <class W>
  __device__ W operator()(W x, W y) const {
    return x + y;
  }
};
// A NaN wins.
struct Largest {
  template <class W>
  __device__ W operator()(W x, W y) const {
    return y != y || y > x ? y : x;
  }
};

#define HONE_REDUCE(name, T, W, start, F)                                                       \
  HONE_KERNEL(name, const T* in, T* out, int64_t n, Strided kept, Strided gone, int64_t inner) { \
    reduce_all<T, W>(in, out, n, kept, gone, inner, start, F());                                \
  }
HONE_REDUCE(reduce_sum_f64, double, double, 0.0, Plus)
HONE_REDUCE(reduce_sum_f32, float, float, 0.0f, Plus)
HONE_REDUCE(reduce_sum_bf16, bf16, float, 0.0f, Plus)
HONE_REDUCE(reduce_sum_f16, f16, float, 0.0f, Plus)
HONE_REDUCE(reduce_sum_i64, int64_t, int64_t, 0, Plus)
HONE_REDUCE(reduce_sum_i32, int32_t, int64_t, 0, Plus)
HONE_REDUCE(reduce_max_f64, double, double, -1.0 / 0.0, Largest)
HONE_REDUCE(reduce_max_f32, float, float, -1.0f / 0.0f, Largest)
HONE_REDUCE(reduce_max_bf16, bf16, float, -1.0f / 0.0f, Largest)
HONE_REDUCE(reduce_max_f16, f16, float, -1.0f / 0.0f, Largest)
HONE_REDUCE(reduce_max_i64, int64_t, int64_t, -0x7fffffffffffffffll - 1, Largest)
HONE_REDUCE(reduce_max_i32, int32_t, int32_t, -0x7fffffff - 1, Largest)

// The lanes of each warp of the block where it is set, for all threads.
__device__ __forceinline__ void ballot_block(bool is_set, unsigned (&lanes)[kBlock / kWarp]) {
  const unsigned mine = __ballot_sync(kAllLanes, is_set);
  if (threadIdx.x % kWarp == 0) lanes[threadIdx.x / kWarp] = mine;
  __syncthreads();
}

// The last token of an id, and how many tokens follow its first. Both are -1 where it has none.
struct Span {
  int last, after_first;
};
// spans[id] of each id; they are -1 before.
HONE_KERNEL(id_spans, const int32_t* ids, Span* spans, int64_t tokens) {
  for (int64_t t = blockIdx.x * int64_t{kBlock} + threadIdx.x; t < tokens;
       t += gridDim.x * int64_t{kBlock}) {
    const int32_t id = ids[t];
    if (id < 0) continue;
    atomicMax(&spans[id].last, static_cast<int>(t));
    atomicMax(&spans[id].after_first, static_cast<int>(tokens - 1 - t));
  }
}

// Whether no token before t has its id, for all threads of the block.
__device__ __forceinline__ bool is_first(const int32_t* ids, int64_t t,
                                         unsigned (&lanes)[kBlock / kWarp]) {
  for (int64_t begin = 0; begin < t; begin += kBlock) {
    const int64_t at = begin + threadIdx.x;
    ballot_block(at < t && ids[at] == ids[t], lanes);
    unsigned any = 0;
    for (const unsigned l : lanes) any |= l;
    if (any != 0) return false;
    __syncthreads();
  }
  return true;
}

// z (kept as Z) = onto (or zeros) + dy[t] in row ids[t], rows in the order of t. A block for each token and kScattered
// columns: that of the first token of an id adds the rows of all. Ids below 0 add nothing. Without `spans` each block
// looks for its id in all tokens, which takes the square of many of them.
template <class T, class Z>
__device__ void scatter_rows(const int32_t* ids, const T* dy, Z* z, const Span* spans,
                             int64_t tokens, int64_t columns) {
  constexpr int kEach = kScattered / kBlock;
  __shared__ unsigned lanes[kBlock / kWarp];
  const int64_t t = blockIdx.x, tid = threadIdx.x;
  const int32_t id = ids[t];
  if (id < 0) return;
  if (spans != nullptr ? spans[id].after_first != tokens - 1 - t : !is_first(ids, t, lanes)) return;
  const int64_t end = spans != nullptr ? spans[id].last + int64_t{1} : tokens;
  const int64_t first = blockIdx.y * int64_t{kScattered} + tid;
  T sum[kEach];
  for (int e = 0; e < kEach; ++e)
    sum[e] = first + e * kBlock < columns ? wide(z[id * columns + first + e * kBlock]) : T(0);
  for (int64_t begin = t; begin < end; begin += kBlock) {
    ballot_block(begin + tid < end && ids[begin + tid] == id, lanes);
    for (int w = 0; w < kBlock / kWarp; ++w)
      for (unsigned left = lanes[w]; left != 0; left &= left - 1) {
        const int64_t row = (begin + w * kWarp + __ffs(static_cast<int>(left)) - 1) * columns;
        for (int e = 0; e < kEach; ++e)
          if (first + e * kBlock < columns) sum[e] += dy[row + first + e * kBlock];
      }
    __syncthreads();
  }
  for (int e = 0; e < kEach; ++e)
    if (first + e * kBlock < columns)
      z[id * columns + first + e * kBlock] = Narrow<Z>::of(sum[e]);
}
#define HONE_SCATTER(name, T, Z)                                                                 \
  HONE_KERNEL(scatter_add_rows_##name, const int32_t* ids, const T* dy, Z* z, const Span* spans, \
              int64_t tokens, int64_t columns) {                                                  \
    scatter_rows(ids, dy, z, spans, tokens, columns);                                             \
  }
HONE_SCATTER(f64, double, double)
HONE_SCATTER(f32, float, float)
HONE_SCATTER(bf16, float, bf16)
HONE_SCATTER(f16, float, f16)

// Parts of the sums over rows that begin `step` elements apart (norms.cuh).
#define HONE_LOGIT_PARTS(name, T)                                                            \
  HONE_KERNEL(logit_parts_##name, const T* d, float* parts, int64_t rows, int64_t columns,   \
              int64_t step) {                                                                \
    sum_columns(parts, rows, columns,                                                        \
                [=](int64_t row, int64_t j) { return wide(d[row * step + j]); });            \
  }
HONE_LOGIT_PARTS(bf16, bf16)
HONE_LOGIT_PARTS(f16, f16)

}  // namespace hone::cuda
