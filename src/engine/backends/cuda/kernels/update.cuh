// adamw (engine/ops/adamw.cc), a launch for each tensor. Scalars are read on the device, so the step
// needs no word of the host.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// What all elements share, made by one thread of each block.
struct AdamScalars {
  float scale, shrink, step_size, root;
};

template <class G>
__device__ void adamw(const float* p, const G* g, const float* m, const float* v, const double* lr,
                      const int64_t* step, const double* g_scale, float* new_p, float* new_m,
                      float* new_v, int64_t n, AdamW a) {
  __shared__ AdamScalars shared;
  if (threadIdx.x == 0) {
    const auto count = static_cast<double>(step[0]);
    shared.scale = static_cast<float>(g_scale[0]);
    shared.shrink = static_cast<float>(1 - lr[0] * a.decay);
    const double first = a.beta1 == 0 ? 1 : 1 - exp(count * log(a.beta1)),
                 second = a.beta2 == 0 ? 1 : 1 - exp(count * log(a.beta2));
    shared.step_size = static_cast<float>(lr[0] / first);
    shared.root = static_cast<float>(sqrt(second));
  }
  __syncthreads();
  const AdamScalars s = shared;
  const auto beta1 = static_cast<float>(a.beta1), beta2 = static_cast<float>(a.beta2),
             eps = static_cast<float>(a.eps), decay = static_cast<float>(a.decay);
  const auto take1 = static_cast<float>(1 - a.beta1), take2 = static_cast<float>(1 - a.beta2);
  const bool is_finite = s.scale - s.scale == 0;  // of gradients that are not, nothing changes
  for (int64_t i = first_of_all(); i < n; i += all_threads()) {
    if (!is_finite) {
      new_p[i] = p[i];
      new_m[i] = m[i];
      new_v[i] = v[i];
      continue;
    }
    float w = p[i], d = wide(g[i]) * s.scale;
    if (a.l2 && a.decay != 0) d += w * decay;
    const float mi = m[i] * beta1 + d * take1, vi = v[i] * beta2 + d * d * take2;
    new_m[i] = mi;
    new_v[i] = vi;
    if (a.huggingface) {
      w -= mi / (sqrtf(vi) + eps) * (s.step_size * s.root);
      if (a.decay != 0) w *= s.shrink;
    } else {
      if (!a.l2 && a.decay != 0) w *= s.shrink;
      w -= s.step_size * mi / (sqrtf(vi) / s.root + eps);
    }
    new_p[i] = w;
  }
}

#define HONE_ADAMW(name, G)                                                                      \
  HONE_KERNEL(adamw_##name, const float* p, const G* g, const float* m, const float* v,          \
              const double* lr, const int64_t* step, const double* g_scale, float* new_p,        \
              float* new_m, float* new_v, int64_t n, AdamW a) {                                  \
    adamw(p, g, m, v, lr, step, g_scale, new_p, new_m, new_v, n, a);                             \
  }
HONE_ADAMW(f32, float)
HONE_ADAMW(bf16, bf16)
HONE_ADAMW(f16, f16)

// The sum of squares of a tensor in f64: parts, a block for each, then their sum in order.
template <class T>
__device__ void square_parts(const T* x, double* parts, int64_t n) {
  double sum = 0;
  for (int64_t i = first_of_all(); i < n; i += all_threads()) {
    const auto v = static_cast<double>(wide(x[i]));
    sum += v * v;
  }
  sum = reduce_block(sum, [](double a, double b) { return a + b; });
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
HONE_KERNEL(square_parts_f64, const double* x, double* parts, int64_t n) { square_parts(x, parts, n); }
HONE_KERNEL(square_parts_f32, const float* x, double* parts, int64_t n) { square_parts(x, parts, n); }
HONE_KERNEL(square_parts_bf16, const bf16* x, double* parts, int64_t n) { square_parts(x, parts, n); }
HONE_KERNEL(square_parts_f16, const f16* x, double* parts, int64_t n) { square_parts(x, parts, n); }

HONE_KERNEL(add_square_parts, const double* parts, double* out, int64_t count) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += kBlock) sum += parts[i];
  sum = reduce_block(sum, [](double a, double b) { return a + b; });
  if (threadIdx.x == 0) out[0] = sum;
}

}  // namespace hone::cuda
