// rope and dropout of rows [T,C] (engine/ops).
#include "engine/backends/cuda/kernels/kernel.cuh"
#include "engine/backends/cuda/kernels/philox.cuh"

namespace hone::cuda {

// A thread for each pair of channels that turn together. sign -1: the transposed map.
template <class T>
__device__ void turn_pairs(const T* x, const int32_t* positions, const float* inv_freq, T* y,
                           int64_t n, int64_t heads, int64_t half, float scale, float sign) {
  for (int64_t i = first_of_all(); i < n; i += all_threads()) {
    const int64_t j = i % half, head = i / half % heads, row = i / half / heads;
    const float angle = static_cast<float>(positions[row]) * inv_freq[j];
    const float c = cosf(angle) * scale, s = sinf(angle) * scale * sign;
    const int64_t at = (row * heads + head) * 2 * half + j;
    const float first = wide(x[at]), second = wide(x[at + half]);
    y[at] = Narrow<T>::of(first * c - second * s);
    y[at + half] = Narrow<T>::of(second * c + first * s);
  }
}

// A thread for the four channels that share the words of a counter: j, j + 16, j + 32, j + 48.
template <class T>
__device__ void drop(const T* x, const int64_t* rng, const int64_t* samples,
                     const int32_t* positions, const T* residual, T* y, int64_t rows,
                     int64_t channels, uint64_t place, uint32_t threshold, float scale) {
  const Key key = key_of(rng, place);
  const int64_t groups = (channels + 63) / 64 * 16;
  for (int64_t i = first_of_all(); i < rows * groups; i += all_threads()) {
    const int64_t row = i / groups, group = i % groups;
    Words c = words_of(static_cast<uint64_t>(samples[row]), 0);
    c.w[2] = static_cast<uint32_t>(positions[row]);
    c.w[3] = static_cast<uint32_t>(group);
    c = philox(c, key.k0, key.k1);
    for (int word = 0; word < 4; ++word) {
      const int64_t j = group / 16 * 64 + word * 16 + group % 16;
      if (j >= channels) break;
      const int64_t at = row * channels + j;
      T v = Narrow<T>::of(c.w[word] >= threshold ? wide(x[at]) * scale : 0.0f);
      if (residual != nullptr) v = Narrow<T>::of(wide(v) + wide(residual[at]));
      y[at] = v;
    }
  }
}

#define HONE_ROWS(name, T)                                                                       \
  HONE_KERNEL(rope_##name, const T* x, const int32_t* positions, const float* inv_freq, T* y,    \
              int64_t n, int64_t heads, int64_t half, float scale, float sign) {                 \
    turn_pairs(x, positions, inv_freq, y, n, heads, half, scale, sign);                          \
  }                                                                                              \
  HONE_KERNEL(dropout_##name, const T* x, const int64_t* rng, const int64_t* samples,            \
              const int32_t* positions, const T* residual, T* y, int64_t rows, int64_t channels, \
              uint64_t place, uint32_t threshold, float scale) {                                 \
    drop(x, rng, samples, positions, residual, y, rows, channels, place, threshold, scale);      \
  }
HONE_ROWS(f32, float)
HONE_ROWS(bf16, bf16)
HONE_ROWS(f16, f16)

}  // namespace hone::cuda
