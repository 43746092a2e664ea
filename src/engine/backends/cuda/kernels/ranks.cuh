// Sums of the terms of ranks, in their order (engine/ops/collective_parts.h).
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// out = onto, if there is one, + the terms of the first `present` ranks, null: of all. `own` is the term of `rank`; the
// terms of the others are `step` elements apart. Floats of 16 bits are added in f32 and rounded once.
template <class T>
__device__ __forceinline__ void sum_ranks(const T* own, const T* onto, const T* others,
                                          const int64_t* present, T* out, int64_t n, int64_t step,
                                          int rank, int ranks) {
  int count = ranks;
  if (present != nullptr && *present < ranks) count = static_cast<int>(*present);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kBlock) {
    Wide<T> sum = onto != nullptr ? wide(onto[i]) : Wide<T>(0);
    for (int q = 0; q < count; ++q) {
      const Wide<T> x = wide(q == rank ? own[i] : others[(q < rank ? q : q - 1) * step + i]);
      sum = q == 0 && onto == nullptr ? x : sum + x;
    }
    out[i] = Narrow<T>::of(sum);
  }
}

#define HONE_SUM_RANKS(name, T)                                                             \
  HONE_KERNEL(name, const T* own, const T* onto, const T* others, const int64_t* present,   \
              T* out, int64_t n, int64_t step, int rank, int ranks) {                       \
    sum_ranks(own, onto, others, present, out, n, step, rank, ranks);                       \
  }
HONE_SUM_RANKS(sum_ranks_f64, double)
HONE_SUM_RANKS(sum_ranks_f32, float)
HONE_SUM_RANKS(sum_ranks_bf16, bf16)
HONE_SUM_RANKS(sum_ranks_f16, f16)

}  // namespace hone::cuda
