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

// z = onto (or zeros) + dy[t] in row ids[t], rows in the order of t; a thread for each column. Ids below 0
// add nothing.
#define HONE_SCATTER(name, T)                                                                    \
  HONE_KERNEL(scatter_add_rows_##name, const int32_t* ids, const T* dy, T* z, int64_t tokens,    \
              int64_t columns) {                                                                 \
    for (int64_t j = first_of_all(); j < columns; j += all_threads())                            \
      for (int64_t t = 0; t < tokens; ++t) {                                                     \
        const int64_t id = ids[t];                                                               \
        if (id < 0) continue;                                                                    \
        T& sum = z[id * columns + j];                                                            \
        sum = Narrow<T>::of(wide(sum) + wide(dy[t * columns + j]));                              \
      }                                                                                          \
  }
HONE_SCATTER(f64, double)
HONE_SCATTER(f32, float)

}  // namespace hone::cuda
