// LAMB (engine/ops/lamb.cc) of several tensors in a launch: moments and parts of two norms, the rate of each
// tensor, the weights. Operations and their order are those of the CPU's kernels, but for sums, which are in f64.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

__device__ __forceinline__ int tensor_of_block(const Updates& all) {
  int k = 0;
  while (k + 1 < all.count && blockIdx.x >= all.of[k + 1].first_block) ++k;
  return k;
}
__device__ __forceinline__ float lamb_change(float decay, float correction, float root, float eps,
                                             float p, float m, float v) {
  return fmaf(decay, p, m / correction / __fadd_rn(sqrtf(v) / root, eps));
}

// m', v', and for each block the sums of the squares of p and of its change. powers: of update_powers.
template <class G>
__device__ __forceinline__ void lamb_moments(const double* g_scale, const double* powers, double* parts,
                                             const Updates& all) {
  const UpdateTensor& t = all.of[tensor_of_block(all)];
  const auto scale = static_cast<float>(g_scale[0]), beta2 = static_cast<float>(all.rule.beta2),
             take1 = static_cast<float>(1 - all.rule.beta1),
             take2 = static_cast<float>(1 - all.rule.beta2),
             correction = static_cast<float>(powers[0]), root = static_cast<float>(powers[1]),
             eps = static_cast<float>(all.rule.eps), decay = static_cast<float>(t.decay);
  const bool is_finite = scale - scale == 0;  // of gradients that are not, nothing changes
  const int64_t begin = (blockIdx.x - t.first_block) * kUpdated;
  const int here = t.size - begin < kUpdated ? static_cast<int>(t.size - begin) : kUpdated;
  const float* const p = static_cast<const float*>(t.p) + begin;
  const float* const m = static_cast<const float*>(t.states[0]) + begin;
  const float* const v = static_cast<const float*>(t.states[1]) + begin;
  float* const new_m = static_cast<float*>(t.new_states[0]) + begin;
  float* const new_v = static_cast<float*>(t.new_states[1]) + begin;
  double weight = 0, size = 0;
  for (int i = static_cast<int>(threadIdx.x); i < here; i += kBlock) {
    float of_m = m[i], of_v = v[i];
    if (is_finite) {
      const float g = __fmul_rn(wide(static_cast<const G*>(t.g)[begin + i]), scale);
      of_m = fmaf(__fsub_rn(g, of_m), take1, of_m);
      of_v = fmaf(__fmul_rn(g, take2), g, __fmul_rn(of_v, beta2));
      const double change = lamb_change(decay, correction, root, eps, p[i], of_m, of_v);
      weight += static_cast<double>(p[i]) * static_cast<double>(p[i]);
      size += change * change;
    }
    new_m[i] = of_m;
    new_v[i] = of_v;
  }
  const auto plus = [](double a, double b) { return a + b; };
  weight = reduce_block(weight, plus);
  size = reduce_block(size, plus);
  if (threadIdx.x != 0) return;
  parts[2 * blockIdx.x] = weight;
  parts[2 * blockIdx.x + 1] = size;
}
#define HONE_LAMB(name, G)                                                                       \
  HONE_KERNEL(lamb_moments_##name, const double* g_scale, const double* powers, double* parts,   \
              const __grid_constant__ Updates all) {                                             \
    lamb_moments<G>(g_scale, powers, parts, all);                                                \
  }
HONE_LAMB(f32, float)
HONE_LAMB(bf16, bf16)
HONE_LAMB(f16, f16)

// lr |p| / |change| of each tensor: a block for it. NaN: nothing changes.
HONE_KERNEL(lamb_rates, const double* lr, const double* g_scale, const double* parts, float* rates,
            const __grid_constant__ Updates all) {
  const UpdateTensor& t = all.of[blockIdx.x];
  const int64_t end = t.first_block + (t.size + kUpdated - 1) / kUpdated;
  double weight = 0, size = 0;
  for (int64_t part = t.first_block + threadIdx.x; part < end; part += kBlock) {
    weight += parts[2 * part];
    size += parts[2 * part + 1];
  }
  const auto plus = [](double a, double b) { return a + b; };
  weight = sqrt(reduce_block(weight, plus));
  size = sqrt(reduce_block(size, plus));
  if (threadIdx.x != 0) return;
  double trust = weight > 0 && size > 0 ? weight / size : 1;
  if (all.rule.trust_clip && trust > 1) trust = 1;
  rates[blockIdx.x] = static_cast<float>(lr[0] * trust + (g_scale[0] - g_scale[0]));
}

HONE_KERNEL(lamb_weights, const double* powers, const float* rates,
            const __grid_constant__ Updates all) {
  const int k = tensor_of_block(all);
  const UpdateTensor& t = all.of[k];
  const float rate = rates[k], correction = static_cast<float>(powers[0]),
              root = static_cast<float>(powers[1]), eps = static_cast<float>(all.rule.eps),
              decay = static_cast<float>(t.decay);
  const int64_t begin = (blockIdx.x - t.first_block) * kUpdated;
  const int here = t.size - begin < kUpdated ? static_cast<int>(t.size - begin) : kUpdated;
  const float* const p = static_cast<const float*>(t.p) + begin;
  const float* const m = static_cast<const float*>(t.new_states[0]) + begin;
  const float* const v = static_cast<const float*>(t.new_states[1]) + begin;
  float* const new_p = static_cast<float*>(t.new_p) + begin;
  for (int i = static_cast<int>(threadIdx.x); i < here; i += kBlock)
    new_p[i] = rate == rate
                   ? fmaf(-rate, lamb_change(decay, correction, root, eps, p[i], m[i], v[i]), p[i])
                   : p[i];
}

}  // namespace hone::cuda
