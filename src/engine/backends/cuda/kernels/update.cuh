// Updates of weights by rules for each element by itself (engine/ops/update_parts.h), of many tensors in a
// launch; those whose states are codes have one each. Scalars are read on the device, so the step needs no word of the host. Operations and their order
// are those of the CPU's kernels (engine/backends/cpu/kernels/optimizer_steps.simd.h): bits are the same
// wherever an update runs.
#include "engine/backends/cuda/kernels/blocks.cuh"
#include "engine/backends/cuda/kernels/kernel.cuh"
#include "engine/backends/cuda/kernels/philox.cuh"

namespace hone::cuda {

// What all elements share.
struct UpdateScalars {
  float g_scale, l2, shrink;  // shrink: 1 - lr * decay
  float keep1, take1, keep2, take2;
  float root, eps, step_size;
};

__device__ UpdateScalars scalars_of(const Update& u, double lr, int64_t step, double g_scale) {
  const auto count = static_cast<double>(step);
  UpdateScalars s;
  s.g_scale = static_cast<float>(g_scale);
  s.l2 = static_cast<float>(u.decay);
  s.shrink = static_cast<float>(1 - lr * u.decay);
  s.keep1 = static_cast<float>(u.beta1);
  s.take1 = static_cast<float>(1 - u.beta1);
  s.keep2 = static_cast<float>(u.beta2);
  s.take2 = static_cast<float>(1 - u.beta2);
  s.root = 1;
  s.eps = static_cast<float>(u.eps);
  s.step_size = static_cast<float>(lr);
  switch (u.rule) {
    case Rule::adamw: {
      const double correction = 1 - pow(u.beta1, count), root = sqrt(1 - pow(u.beta2, count));
      const double l2 = u.l2 ? u.decay : 0, shrink = 1 - lr * (u.decay - l2);
      s.l2 = static_cast<float>(l2);
      s.shrink = static_cast<float>(shrink);
      s.root = static_cast<float>(root);
      s.step_size = static_cast<float>(lr / correction);
      if (u.huggingface) {
        s.eps = static_cast<float>(u.eps / root);
        s.step_size = static_cast<float>(lr / correction * shrink);
      }
      break;
    }
    case Rule::sgd:
      s.keep1 = static_cast<float>(u.momentum);
      s.take1 = static_cast<float>(step <= 1 ? 1 : 1 - u.dampening);
      break;
    case Rule::adagrad:
      s.step_size = static_cast<float>(lr / (1 + static_cast<double>(step - 1) * u.lr_decay));
      break;
    case Rule::rmsprop:
      s.keep1 = static_cast<float>(u.momentum);
      s.keep2 = static_cast<float>(u.alpha);
      s.take2 = static_cast<float>(1 - u.alpha);
      break;
    case Rule::lion:
      break;
  }
  return s;
}

// Made by one thread of a block.
__device__ __forceinline__ UpdateScalars shared_scalars(const Update& u, const double* lr,
                                                        const int64_t* step, const double* g_scale) {
  __shared__ UpdateScalars shared;
  if (threadIdx.x == 0) shared = scalars_of(u, lr[0], step[0], g_scale[0]);
  __syncthreads();
  return shared;
}

// A weight and what a rule keeps for it.
struct Updated {
  float p, state[3];
};

__device__ __forceinline__ void adamw_step(const UpdateScalars& s, float gradient, Updated& x) {
  const float g = fmaf(s.l2, x.p, __fmul_rn(gradient, s.g_scale));
  float &m = x.state[0], &v = x.state[1];
  m = fmaf(__fsub_rn(g, m), s.take1, m);
  v = fmaf(__fmul_rn(g, s.take2), g, __fmul_rn(v, s.keep2));
  const float below = __fadd_rn(sqrtf(v) / s.root, s.eps);
  x.p = fmaf(x.p, s.shrink, -__fmul_rn(s.step_size, m / below));
}

__device__ __forceinline__ void lion_step(const UpdateScalars& s, float gradient, Updated& x) {
  const float g = __fmul_rn(gradient, s.g_scale);
  float& m = x.state[0];
  const float c = fmaf(s.keep1, m, __fmul_rn(g, s.take1));
  const float up = c > 0 ? s.step_size : 0.0f, down = c < 0 ? s.step_size : 0.0f;
  m = fmaf(s.keep2, m, __fmul_rn(g, s.take2));
  x.p = fmaf(x.p, s.shrink, down - up);
}

__device__ __forceinline__ void step_of(const Update& u, const UpdateScalars& s, float gradient,
                                        Updated& x, bool has_means, bool has_buffer) {
  const float g = fmaf(s.l2, x.p, __fmul_rn(gradient, s.g_scale));
  switch (u.rule) {
    case Rule::adamw:
      return adamw_step(s, gradient, x);
    case Rule::lion:
      return lion_step(s, gradient, x);
    case Rule::sgd: {
      float change = g;
      if (has_buffer) {
        x.state[2] = fmaf(s.keep1, x.state[2], __fmul_rn(g, s.take1));
        change = u.nesterov ? fmaf(s.keep1, x.state[2], g) : x.state[2];
      }
      x.p = fmaf(-s.step_size, change, x.p);
      return;
    }
    case Rule::adagrad:
      x.state[0] = fmaf(g, g, x.state[0]);
      x.p = fmaf(-s.step_size, g / __fadd_rn(sqrtf(x.state[0]), s.eps), x.p);
      return;
    case Rule::rmsprop: {
      float spread = fmaf(__fmul_rn(g, s.take2), g, __fmul_rn(x.state[0], s.keep2));
      x.state[0] = spread;
      if (has_means) {
        x.state[1] = fmaf(s.take2, g, __fmul_rn(x.state[1], s.keep2));
        spread = fmaf(-x.state[1], x.state[1], spread);
      }
      float change = g / __fadd_rn(sqrtf(spread), s.eps);
      if (has_buffer) {
        change = fmaf(s.keep1, x.state[2], change);
        x.state[2] = change;
      }
      x.p = fmaf(-s.step_size, change, x.p);
      return;
    }
  }
}

__device__ __forceinline__ void put_weight(float* p, int64_t i, float x, const Update&, int64_t) {
  p[i] = x;
}
__device__ __forceinline__ void put_weight(bf16* p, int64_t i, float x, const Update& u,
                                           int64_t step) {
  p[i] = u.stochastic ? round_at_random(x, u.key, static_cast<uint64_t>(step),
                                        u.first + static_cast<uint64_t>(i))
                      : to_bf16(x);
}

// States: adamw m and v; adagrad sums; rmsprop squares, means and buffers; sgd none, none and buffers;
// lion m. Those that a rule does not keep are null.
template <class P, class G>
__device__ void update(const double* lr, const int64_t* step, const double* g_scale,
                       const Updates& all) {
  int k = 0;
  while (k + 1 < all.count && blockIdx.x >= all.of[k + 1].first_block) ++k;
  const UpdateTensor& t = all.of[k];
  Update u = all.rule;
  u.decay = t.decay;
  u.key = t.key;
  u.first = t.first;
  const UpdateScalars s = shared_scalars(u, lr, step, g_scale);
  const bool is_finite = s.g_scale - s.g_scale == 0;  // of gradients that are not, nothing changes
  const int64_t begin = (blockIdx.x - t.first_block) * kUpdated;
  const int64_t end = begin + kUpdated < t.size ? begin + kUpdated : t.size;
  for (int64_t i = begin + threadIdx.x; i < end; i += kBlock) {
    Updated x = {wide(static_cast<const P*>(t.p)[i]), {0.0f, 0.0f, 0.0f}};
    for (int m = 0; m < 3; ++m)
      if (t.states[m] != nullptr) x.state[m] = wide(static_cast<const P*>(t.states[m])[i]);
    if (is_finite) {
      step_of(u, s, wide(static_cast<const G*>(t.g)[i]), x, t.states[1] != nullptr,
              t.states[2] != nullptr);
      put_weight(static_cast<P*>(t.new_p), i, x.p, u, step[0]);
    } else {
      static_cast<P*>(t.new_p)[i] = static_cast<const P*>(t.p)[i];
    }
    for (int m = 0; m < 3; ++m)
      if (t.states[m] != nullptr) static_cast<P*>(t.new_states[m])[i] = Narrow<P>::of(x.state[m]);
  }
}

// AdamW, and without v Lion, whose states are codes in blocks of 256 elements: a thread block for each.
template <class P, class G>
__device__ void update_8bit(const P* p, const G* g, const uint8_t* m, const float* m_most,
                            const uint8_t* v, const float* v_most, const double* lr,
                            const int64_t* step, const double* g_scale, P* new_p, uint8_t* new_m,
                            float* new_m_most, uint8_t* new_v, float* new_v_most, int64_t n,
                            const Update& u, const Map& with_sign, const Map& without) {
  const UpdateScalars s = shared_scalars(u, lr, step, g_scale);
  const int64_t block = blockIdx.x, i = block * kBlock + threadIdx.x;
  const bool has_v = v != nullptr;
  if (s.g_scale - s.g_scale != 0) {
    if (i < n) {
      new_p[i] = p[i];
      new_m[i] = m[i];
      if (has_v) new_v[i] = v[i];
    }
    if (threadIdx.x == 0) {
      new_m_most[block] = m_most[block];
      if (has_v) new_v_most[block] = v_most[block];
    }
    return;
  }
  Updated x = {0.0f, {0.0f, 0.0f, 0.0f}};
  if (i < n) {
    x.p = wide(p[i]);
    x.state[0] = __fmul_rn(with_sign.of[m[i]], m_most[block]);
    if (has_v) x.state[1] = __fmul_rn(without.of[v[i]], v_most[block]);
    if (has_v)
      adamw_step(s, wide(g[i]), x);
    else
      lion_step(s, wide(g[i]), x);
    put_weight(new_p, i, x.p, u, step[0]);
  }
  const float most_m = largest_of_block(x.state[0]);
  const float most_v = has_v ? largest_of_block(x.state[1]) : 0.0f;
  if (i < n) {
    new_m[i] = code_of(x.state[0], most_m, with_sign);
    if (has_v) new_v[i] = code_of(x.state[1], most_v, without);
  }
  if (threadIdx.x == 0) {
    new_m_most[block] = most_m;
    if (has_v) new_v_most[block] = most_v;
  }
}

#define HONE_UPDATE(weights, P, gradients, G)                                                    \
  HONE_KERNEL(update_##weights##_##gradients, const double* lr, const int64_t* step,             \
              const double* g_scale, const __grid_constant__ Updates all) {                      \
    update<P, G>(lr, step, g_scale, all);                                                        \
  }                                                                                              \
  HONE_KERNEL(update_8bit_##weights##_##gradients, const P* p, const G* g, const uint8_t* m,     \
              const float* m_most, const uint8_t* v, const float* v_most, const double* lr,      \
              const int64_t* step, const double* g_scale, P* new_p, uint8_t* new_m,              \
              float* new_m_most, uint8_t* new_v, float* new_v_most, int64_t n, Update u,         \
              Map with_sign, Map without) {                                                      \
    update_8bit(p, g, m, m_most, v, v_most, lr, step, g_scale, new_p, new_m, new_m_most, new_v,  \
                new_v_most, n, u, with_sign, without);                                           \
  }
#define HONE_UPDATES(weights, P)       \
  HONE_UPDATE(weights, P, f32, float)  \
  HONE_UPDATE(weights, P, bf16, bf16)  \
  HONE_UPDATE(weights, P, f16, f16)
HONE_UPDATES(f32, float)
HONE_UPDATES(bf16, bf16)

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
