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

// out[i] = f(x[i]), and of two and of three operands.
template <class T, class F>
__device__ __forceinline__ void activate_all(const T* x, T* out, int64_t n, F f) {
  constexpr int N = kPacked<T, T>;
  for_packs<N>(
      n, is_whole(x) && is_whole(out),
      [&](int64_t i) {
        float v[N];
        load<N>(v, x + i);
        HONE_UNROLL
        for (int e = 0; e < N; ++e) v[e] = f(v[e]);
        store<N>(out + i, v);
      },
      [&](int64_t i) { out[i] = Narrow<T>::of(f(wide(x[i]))); });
}
template <class T, class F>
__device__ __forceinline__ void activate_all(const T* x, const T* y, T* out, int64_t n, F f) {
  constexpr int N = kPacked<T, T>;
  for_packs<N>(
      n, is_whole(x) && is_whole(y) && is_whole(out),
      [&](int64_t i) {
        float v[N], w[N];
        load<N>(v, x + i);
        load<N>(w, y + i);
        HONE_UNROLL
        for (int e = 0; e < N; ++e) v[e] = f(v[e], w[e]);
        store<N>(out + i, v);
      },
      [&](int64_t i) { out[i] = Narrow<T>::of(f(wide(x[i]), wide(y[i]))); });
}
template <class T>
__device__ __forceinline__ void gate_grad_all(const T* a, const T* x, const T* dy, T* da, T* dx,
                                              int64_t n, int kind) {
  constexpr int N = kPacked<T, T>;
  for_packs<N>(
      n, is_whole(a) && is_whole(x) && is_whole(dy) && is_whole(da) && is_whole(dx),
      [&](int64_t i) {
        float of_a[N], of_x[N], d[N];
        load<N>(of_a, a + i);
        load<N>(of_x, x + i);
        load<N>(d, dy + i);
        HONE_UNROLL
        for (int e = 0; e < N; ++e) {
          of_x[e] = d[e] * of_x[e] * slope(kind, of_a[e]);
          d[e] = d[e] * activate(kind, of_a[e]);
        }
        store<N>(da + i, of_x);
        store<N>(dx + i, d);
      },
      [&](int64_t i) {
        const float of_a = wide(a[i]), of_x = wide(x[i]), d = wide(dy[i]);
        da[i] = Narrow<T>::of(d * of_x * slope(kind, of_a));
        dx[i] = Narrow<T>::of(d * activate(kind, of_a));
      });
}

#define HONE_ACTIVATIONS(name, T)                                                                \
  HONE_KERNEL(activation_##name, const T* x, T* y, int64_t n, int kind) {                        \
    activate_all(x, y, n, [=](float v) { return activate(kind, v); });                           \
  }                                                                                              \
  HONE_KERNEL(activation_grad_##name, const T* x, const T* dy, T* dx, int64_t n, int kind) {     \
    activate_all(x, dy, dx, n, [=](float v, float d) { return d * slope(kind, v); });            \
  }                                                                                              \
  HONE_KERNEL(gate_##name, const T* a, const T* x, T* y, int64_t n, int kind) {                  \
    activate_all(a, x, y, n, [=](float v, float w) { return activate(kind, v) * w; });           \
  }                                                                                              \
  HONE_KERNEL(gate_grad_##name, const T* a, const T* x, const T* dy, T* da, T* dx, int64_t n,    \
              int kind) {                                                                        \
    gate_grad_all(a, x, dy, da, dx, n, kind);                                                    \
  }
HONE_ACTIVATIONS(f32, float)
HONE_ACTIVATIONS(bf16, bf16)
HONE_ACTIVATIONS(f16, f16)

}  // namespace hone::cuda
