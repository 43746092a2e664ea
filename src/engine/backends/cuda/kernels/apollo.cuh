// APOLLO (engine/ops/apollo_adamw.cc) of a matrix, whose gradient was multiplied with random numbers before:
// moments, the scale of each channel or of all, the norm of the change and its limit, the weights.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// m' and v' of low, which is scaled first and stays so.
HONE_KERNEL(apollo_moments, float* low, const double* g_scale, const float* m, const float* v,
            float* new_m, float* new_v, Apollo a) {
  const auto scale = static_cast<float>(g_scale[0]), beta1 = static_cast<float>(a.beta1),
             beta2 = static_cast<float>(a.beta2), take1 = static_cast<float>(1 - a.beta1),
             take2 = static_cast<float>(1 - a.beta2);
  const bool is_finite = scale - scale == 0;  // of gradients that are not, nothing changes
  for (int64_t i = first_of_all(); i < a.low_rows * a.low_columns; i += all_threads()) {
    const float x = low[i] * scale;
    low[i] = x;
    new_m[i] = is_finite ? m[i] * beta1 + x * take1 : m[i];
    new_v[i] = is_finite ? v[i] * beta2 + x * x * take2 : v[i];
  }
}

__device__ __forceinline__ float apollo_change(float m, float v, const Apollo& a) {
  return m / (sqrtf(v) + static_cast<float>(a.eps));
}
// |change| / |low|. By rows: a warp for each row of low; by columns: a thread for each; else one block for all.
HONE_KERNEL(apollo_scales, const float* low, const float* m, const float* v, float* scales, Apollo a) {
  const auto scale_of = [](float change, float size) { return sqrtf(change) / (sqrtf(size) + 1e-8f); };
  if (a.by == Apollo::By::rows) {
    const int64_t lane = threadIdx.x % kWarp;
    for (int64_t r = first_of_all() / kWarp; r < a.low_rows; r += all_threads() / kWarp) {
      float change = 0, size = 0;
      for (int64_t i = r * a.low_columns + lane; i < (r + 1) * a.low_columns; i += kWarp) {
        const float c = apollo_change(m[i], v[i], a);
        change += c * c;
        size += low[i] * low[i];
      }
      change = sum_warp(change);
      size = sum_warp(size);
      if (lane == 0) scales[r] = scale_of(change, size);
    }
    return;
  }
  if (a.by == Apollo::By::columns) {
    for (int64_t j = first_of_all(); j < a.low_columns; j += all_threads()) {
      float change = 0, size = 0;
      for (int64_t i = j; i < a.low_rows * a.low_columns; i += a.low_columns) {
        const float c = apollo_change(m[i], v[i], a);
        change += c * c;
        size += low[i] * low[i];
      }
      scales[j] = scale_of(change, size);
    }
    return;
  }
  double change = 0, size = 0;
  for (int64_t i = threadIdx.x; i < a.low_rows * a.low_columns; i += kBlock) {
    const double c = apollo_change(m[i], v[i], a), x = low[i];
    change += c * c;
    size += x * x;
  }
  const auto plus = [](double x, double y) { return x + y; };
  change = sqrt(reduce_block(change, plus));
  size = sqrt(reduce_block(size, plus));
  if (threadIdx.x == 0) scales[0] = static_cast<float>(change / (size + 1e-8));
}

// Element i of the gradient, scaled.
template <class G>
__device__ __forceinline__ float apollo_gradient(const G* g, const float* scales, float g_scale,
                                                 int64_t i, const Apollo& a) {
  const int64_t channel = a.by == Apollo::By::rows      ? i / a.columns
                          : a.by == Apollo::By::columns ? i % a.columns
                                                        : 0;
  return wide(g[i]) * g_scale * scales[channel];
}
template <class G>
__device__ __forceinline__ void apollo_squares(const G* g, const double* g_scale, const float* scales,
                                               double* parts, const Apollo& a) {
  const auto scale = static_cast<float>(g_scale[0]);
  double sum = 0;
  for (int64_t i = first_of_all(); i < a.rows * a.columns; i += all_threads()) {
    const double x = apollo_gradient(g, scales, scale, i, a);
    sum += x * x;
  }
  sum = reduce_block(sum, [](double x, double y) { return x + y; });
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
// The rate of the change, NaN where nothing changes, and its new norm. powers: of update_powers.
HONE_KERNEL(apollo_rate, const double* parts, const double* lr, const double* g_scale,
            const double* powers, const float* norm, float* new_norm, float* rate, Apollo a) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < a.parts; i += kBlock) sum += parts[i];
  sum = reduce_block(sum, [](double x, double y) { return x + y; });
  if (threadIdx.x != 0) return;
  const double length = sqrt(sum), before = norm[0], ratio = length / (before + 1e-8);
  const double growth = ratio != ratio || ratio > 1.01 ? ratio : 1.01;
  const double limit = before == 0 ? 1 : growth * (1 / 1.01), bad = g_scale[0] - g_scale[0];
  new_norm[0] = bad == 0 ? static_cast<float>(length / limit) : norm[0];
  rate[0] = static_cast<float>(lr[0] * powers[1] / powers[0] * a.scale / limit + bad);
}
template <class G>
__device__ __forceinline__ void apollo_weights(const float* p, const G* g, const double* lr,
                                               const double* g_scale, const float* scales,
                                               const float* rate, float* new_p, const Apollo& a) {
  const auto scale = static_cast<float>(g_scale[0]),
             shrink = static_cast<float>(1 - lr[0] * a.decay);
  const bool is_finite = g_scale[0] - g_scale[0] == 0;
  for (int64_t i = first_of_all(); i < a.rows * a.columns; i += all_threads()) {
    const float change = apollo_gradient(g, scales, scale, i, a) * rate[0];
    new_p[i] = is_finite ? (p[i] - change) * shrink : p[i];
  }
}

#define HONE_APOLLO(name, G)                                                                     \
  HONE_KERNEL(apollo_squares_##name, const G* g, const double* g_scale, const float* scales,     \
              double* parts, Apollo a) {                                                         \
    apollo_squares(g, g_scale, scales, parts, a);                                                \
  }                                                                                              \
  HONE_KERNEL(apollo_weights_##name, const float* p, const G* g, const double* lr,               \
              const double* g_scale, const float* scales, const float* rate, float* new_p,       \
              Apollo a) {                                                                        \
    apollo_weights(p, g, lr, g_scale, scales, rate, new_p, a);                                   \
  }
HONE_APOLLO(f32, float)
HONE_APOLLO(bf16, bf16)
HONE_APOLLO(f16, f16)

}  // namespace hone::cuda
