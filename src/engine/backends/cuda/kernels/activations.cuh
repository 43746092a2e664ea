// Activations of gates and layers, and their slopes. kind: 0 gelu, 1 gelu_tanh, 2 silu, 3 relu.
#pragma once

#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

__device__ __forceinline__ float activate(int kind, float x) {
  switch (kind) {
    case 0:
      return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case 1:
      return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case 2:
      return x / (1.0f + expf(-x));
    default:
      return x != x || x > 0 ? x : 0.0f;
  }
}

// The derivative.
__device__ __forceinline__ float slope(int kind, float x) {
  switch (kind) {
    case 0:
      return 0.5f * (1.0f + erff(x * 0.70710678f)) + x * 0.39894228f * expf(-0.5f * x * x);
    case 1: {
      const float t = tanhf(0.79788456f * (x + 0.044715f * x * x * x));
      return 0.5f * (1.0f + t) +
             0.5f * x * (1.0f - t * t) * 0.79788456f * (1.0f + 3.0f * 0.044715f * x * x);
    }
    case 2: {
      const float s = 1.0f / (1.0f + expf(-x));
      return s * (1.0f + x * (1.0f - s));
    }
    default:
      return x > 0 ? 1.0f : 0.0f;
  }
}

#define HONE_ACTIVATIONS(name, T)                                                                \
  HONE_KERNEL(activation_##name, const T* x, T* y, int64_t n, int kind) {                        \
    for (int64_t i = first_of_all(); i < n; i += all_threads())                                  \
      y[i] = Narrow<T>::of(activate(kind, wide(x[i])));                                          \
  }                                                                                              \
  HONE_KERNEL(activation_grad_##name, const T* x, const T* dy, T* dx, int64_t n, int kind) {     \
    for (int64_t i = first_of_all(); i < n; i += all_threads())                                  \
      dx[i] = Narrow<T>::of(wide(dy[i]) * slope(kind, wide(x[i])));                              \
  }                                                                                              \
  HONE_KERNEL(gate_##name, const T* a, const T* x, T* y, int64_t n, int kind) {                  \
    for (int64_t i = first_of_all(); i < n; i += all_threads())                                  \
      y[i] = Narrow<T>::of(activate(kind, wide(a[i])) * wide(x[i]));                             \
  }                                                                                              \
  HONE_KERNEL(gate_grad_##name, const T* a, const T* x, const T* dy, T* da, T* dx, int64_t n,    \
              int kind) {                                                                        \
    for (int64_t i = first_of_all(); i < n; i += all_threads()) {                                \
      const float of_a = wide(a[i]), of_x = wide(x[i]), d = wide(dy[i]);                         \
      da[i] = Narrow<T>::of(d * of_x * slope(kind, of_a));                                       \
      dx[i] = Narrow<T>::of(d * activate(kind, of_a));                                           \
    }                                                                                            \
  }
HONE_ACTIVATIONS(f32, float)
HONE_ACTIVATIONS(bf16, bf16)
HONE_ACTIVATIONS(f16, f16)

}  // namespace hone::cuda
