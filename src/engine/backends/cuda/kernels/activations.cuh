// Activation functions and their derivatives. kind: 0 gelu (by erf), 1 gelu_tanh, 2 silu, 3 relu.
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

// The derivative of activate() at x.
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

// out[i] = f(x[i]), or f of two or three operands, for n elements.
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
// dx = dy * the derivative at x. y: null, or receives the activation of x again. Results may be written over operands.
template <class T>
__device__ __forceinline__ void activation_grad_all(const T* x, const T* dy, T* dx, T* y, int64_t n,
                                                    int kind) {
  constexpr int N = kPacked<T, T>;
  for_packs<N>(
      n, is_whole(x) && is_whole(dy) && is_whole(dx) && is_whole(y),
      [&](int64_t i) {
        float v[N], d[N];
        load<N>(v, x + i);
        load<N>(d, dy + i);
        HONE_UNROLL
        for (int e = 0; e < N; ++e) {
          d[e] = d[e] * slope(kind, v[e]);
          v[e] = y != nullptr ? activate(kind, v[e]) : 0.0f;
        }
        store<N>(dx + i, d);
        if (y != nullptr) store<N>(y + i, v);
      },
      [&](int64_t i) {
        const float v = wide(x[i]), d = wide(dy[i]);
        dx[i] = Narrow<T>::of(d * slope(kind, v));
        if (y != nullptr) y[i] = Narrow<T>::of(activate(kind, v));
      });
}
template <class T>
__device__ __forceinline__ void gate_grad_all(const T* a, const T* x, const T* dy, T* da, T* dx, T* y,
                                              int64_t n, int kind) {
  constexpr int N = kPacked<T, T>;
  for_packs<N>(
      n,
      is_whole(a) && is_whole(x) && is_whole(dy) && is_whole(da) && is_whole(dx) && is_whole(y),
      [&](int64_t i) {
        float of_a[N], of_x[N], d[N];
        load<N>(of_a, a + i);
        load<N>(of_x, x + i);
        load<N>(d, dy + i);
        HONE_UNROLL
        for (int e = 0; e < N; ++e) {
          const float gate = activate(kind, of_a[e]), v = of_x[e];
          of_x[e] = d[e] * v * slope(kind, of_a[e]);
          of_a[e] = gate * v;
          d[e] = d[e] * gate;
        }
        store<N>(da + i, of_x);
        store<N>(dx + i, d);
        if (y != nullptr) store<N>(y + i, of_a);
      },
      [&](int64_t i) {
        const float of_a = wide(a[i]), of_x = wide(x[i]), d = wide(dy[i]);
        const float gate = activate(kind, of_a);
        da[i] = Narrow<T>::of(d * of_x * slope(kind, of_a));
        dx[i] = Narrow<T>::of(d * gate);
        if (y != nullptr) y[i] = Narrow<T>::of(gate * of_x);
      });
}

#define HONE_ACTIVATIONS(name, T)                                                              \
  HONE_KERNEL(activation_##name, const T* x, T* y, int64_t n, int kind) {                      \
    activate_all(x, y, n, [=](float v) { return activate(kind, v); });                         \
  }                                                                                            \
  HONE_KERNEL(activation_grad_##name, const T* x, const T* dy, T* dx, T* y, int64_t n, int kind) {\
    activation_grad_all(x, dy, dx, y, n, kind);                                                \
  }                                                                                            \
  HONE_KERNEL(gate_##name, const T* a, const T* x, T* y, int64_t n, int kind) {                \
    activate_all(a, x, y, n, [=](float v, float w) { return activate(kind, v) * w; });         \
  }                                                                                            \
  HONE_KERNEL(gate_grad_##name, const T* a, const T* x, const T* dy, T* da, T* dx, T* y,       \
              int64_t n, int kind) {                                                           \
    gate_grad_all(a, x, dy, da, dx, y, n, kind);                                               \
  }
HONE_ACTIVATIONS(f32, float)
HONE_ACTIVATIONS(bf16, bf16)
HONE_ACTIVATIONS(f16, f16)

}  // namespace hone::cuda
