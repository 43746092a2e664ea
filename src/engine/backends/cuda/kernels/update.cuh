// The optimizers that update each element by itself (engine/ops/update_parts.h). One launch updates many tensors; with
// quantized states, one tensor. Scalars are read from device memory, so a step needs no data from the host. Operations
// and their order are those of the CPU's kernels (engine/backends/cpu/kernels/optimizer_steps.simd.h), so the bits are
// the same.
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

// 1 - beta1^step, and the root of 1 - beta2^step: made once for all blocks.
HONE_KERNEL(update_powers, const int64_t* step, double* powers, double beta1, double beta2) {
  const auto count = static_cast<double>(step[0]);
  if (first_of_all() > 0) return;
  powers[0] = 1 - pow(beta1, count);
  powers[1] = sqrt(1 - pow(beta2, count));
}

// powers: of update_powers, for adamw.
__device__ UpdateScalars scalars_of(const Update& u, double lr, int64_t step, double g_scale,
                                    const double* powers) {
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
      const double correction = powers[0], root = powers[1];
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
                                                        const int64_t* step, const double* g_scale,
                                                        const double* powers) {
  __shared__ UpdateScalars shared;
  if (threadIdx.x == 0) shared = scalars_of(u, lr[0], step[0], g_scale[0], powers);
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

template <class P>
__device__ __forceinline__ P weight_of(float x, const Update&, int64_t, int64_t) {
  return Narrow<P>::of(x);
}
template <>
__device__ __forceinline__ bf16 weight_of<bf16>(float x, const Update& u, int64_t i, int64_t step) {
  return u.stochastic ? round_at_random(x, u.key, static_cast<uint64_t>(step),
                                        u.first + static_cast<uint64_t>(i))
                      : to_bf16(x);
}

// Weights that are stored as halves (engine/graph/halves.h). UpdateTensor has both addresses of the new version alone;
// in the old version the lower halves have the same distance from the upper ones.
__device__ __forceinline__ float number_of_halves(uint16_t upper, uint16_t lower) {
  const uint32_t low = lower;
  return __uint_as_float((static_cast<uint32_t>(upper) << 16) + low - ((low & 0x8000) << 1));
}
__device__ __forceinline__ uint16_t upper_half_of(float x) {
  const uint32_t bits = __float_as_uint(x);
  return static_cast<uint16_t>(x != x ? bits >> 16 | 0x40 : (bits + 0x8000) >> 16);
}
__device__ __forceinline__ const uint16_t* lower_halves(const UpdateTensor& t) {
  const int64_t apart = static_cast<const char*>(t.copy) - static_cast<const char*>(t.new_p);
  return reinterpret_cast<const uint16_t*>(static_cast<const char*>(t.p) + apart);
}
template <int N>
__device__ __forceinline__ void load_halves(float (&p)[N], const UpdateTensor& t, int64_t i) {
  const Pack<uint16_t, N> upper = get_pack<N>(static_cast<const uint16_t*>(t.p) + i);
  const Pack<uint16_t, N> lower = get_pack<N>(lower_halves(t) + i);
  HONE_UNROLL
  for (int e = 0; e < N; ++e) p[e] = number_of_halves(upper.of[e], lower.of[e]);
}
template <int N>
__device__ __forceinline__ void store_halves(const UpdateTensor& t, const float (&p)[N], int64_t i) {
  Pack<uint16_t, N> upper, lower;
  HONE_UNROLL
  for (int e = 0; e < N; ++e) {
    upper.of[e] = upper_half_of(p[e]);
    lower.of[e] = static_cast<uint16_t>(__float_as_uint(p[e]));
  }
  put_pack(static_cast<uint16_t*>(t.new_p) + i, upper);
  put_pack(static_cast<uint16_t*>(t.copy) + i, lower);
}

// Elements [i, i + N) of a tensor. States: adamw m and v; adagrad sums; rmsprop squares, means and
// buffers; sgd none, none and buffers; lion m. Those that a rule does not keep are null.
template <int N, class P, class G, bool kAdamw>
__device__ __forceinline__ void update_pack(const UpdateTensor& t, const Update& u,
                                            const UpdateScalars& s, int64_t step, int64_t i,
                                            bool is_finite, bool is_halved, bool copies_f16) {
  constexpr int kStates = kAdamw ? 2 : 3;
  float g[N], p[N], state[kStates][N] = {};
  load<N>(g, static_cast<const G*>(t.g) + i);
  if (is_halved)
    load_halves(p, t, i);
  else
    load<N>(p, static_cast<const P*>(t.p) + i);
  HONE_UNROLL
  for (int k = 0; k < kStates; ++k)
    if (kAdamw || t.states[k] != nullptr) load<N>(state[k], static_cast<const P*>(t.states[k]) + i);
  Pack<P, N> fresh;
  HONE_UNROLL
  for (int e = 0; e < N; ++e) {
    Updated x = {p[e], {state[0][e], state[1][e], kAdamw ? 0.0f : state[kStates - 1][e]}};
    if (is_finite) {
      if (kAdamw)
        adamw_step(s, g[e], x);
      else
        step_of(u, s, g[e], x, t.states[1] != nullptr, t.states[2] != nullptr);
    }
    HONE_UNROLL
    for (int k = 0; k < kStates; ++k) state[k][e] = x.state[k];
    p[e] = x.p;
    fresh.of[e] = weight_of<P>(x.p, u, i + e, step);  // of a weight in P the same
  }
  if (is_halved)
    store_halves(t, p, i);
  else
    put_pack(static_cast<P*>(t.new_p) + i, fresh);
  HONE_UNROLL
  for (int k = 0; k < kStates; ++k)
    if (kAdamw || t.states[k] != nullptr) store<N>(static_cast<P*>(t.new_states[k]) + i, state[k]);
  if (t.copy == nullptr || is_halved) return;
  if (copies_f16)
    store<N>(static_cast<f16*>(t.copy) + i, p);
  else
    store<N>(static_cast<bf16*>(t.copy) + i, p);
}

template <class P, class G, bool kAdamw>
__device__ __forceinline__ void update(const double* lr, const int64_t* step, const double* g_scale,
                                       const double* powers, const Updates& all) {
  constexpr int N = kPacked<P, P>;
  int k = 0;
  while (k + 1 < all.count && blockIdx.x >= all.of[k + 1].first_block) ++k;
  const UpdateTensor& t = all.of[k];
  const bool is_halved = sizeof(P) == 4 && (all.halved >> k & 1) != 0;
  Update u = all.rule;
  u.decay = t.decay;
  u.key = t.key;
  u.first = t.first;
  const UpdateScalars s = shared_scalars(u, lr, step, g_scale, powers);
  const bool is_finite = s.g_scale - s.g_scale == 0;  // of gradients that are not, nothing changes
  bool whole = is_whole(t.p) && is_whole(t.g) && is_whole(t.new_p) && is_whole(t.copy);
  for (int m = 0; m < 3; ++m) whole = whole && is_whole(t.states[m]) && is_whole(t.new_states[m]);
  const int64_t begin = (blockIdx.x - t.first_block) * kUpdated, now = step[0];
  const int here = t.size - begin < kUpdated ? static_cast<int>(t.size - begin) : kUpdated;
  const int packs = whole ? here / N * N : 0, tid = static_cast<int>(threadIdx.x);
  for (int at = tid * N; at < packs; at += N * kBlock)
    update_pack<N, P, G, kAdamw>(t, u, s, now, begin + at, is_finite, is_halved,
                                 all.copies_f16);
  for (int at = packs + tid; at < here; at += kBlock)
    update_pack<1, P, G, kAdamw>(t, u, s, now, begin + at, is_finite, is_halved,
                                 all.copies_f16);
}

// AdamW, and without v Lion, whose states are codes in blocks of 256 elements: a thread block for each.
template <class P, class G>
__device__ void update_8bit(const P* p, const G* g, const uint8_t* m, const float* m_most,
                            const uint8_t* v, const float* v_most, const double* lr,
                            const int64_t* step, const double* g_scale, const double* powers,
                            P* new_p, uint8_t* new_m, float* new_m_most, uint8_t* new_v,
                            float* new_v_most, int64_t n, const Update& u, const Map& of_m,
                            const Map& of_v) {
  __shared__ Map with_sign, without;
  share_map(with_sign, of_m);
  if (v != nullptr) share_map(without, of_v);
  const UpdateScalars s = shared_scalars(u, lr, step, g_scale, powers);
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
    new_p[i] = weight_of<P>(x.p, u, i, step[0]);
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

// The states of a lane's elements from `i` on and the largest magnitude of their block, as codes.
__device__ __forceinline__ void put_four_bits(const float (&x)[4], uint8_t* codes, float* scales,
                                              int64_t i, const FourBits& map) {
  float most = 1e-12f;
  HONE_UNROLL
  for (int e = 0; e < 4; ++e) most = fmaxf(most, fabsf(x[e]));
  for (int step = kWarp / 2; step > 0; step /= 2)
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, step));
  HONE_UNROLL
  for (int e = 0; e < 4; e += 2)
    codes[(i + e) / 2] = static_cast<uint8_t>(code_of(x[e] / most, map) << 4 |
                                              code_of(x[e + 1] / most, map));
  if (static_cast<int>(threadIdx.x) % kWarp == 0) scales[i / 128] = most;
}

// AdamW whose states are codes of 4 bits in blocks of 128 elements: a warp for each. n: whole blocks.
template <class P, class G>
__device__ void update_4bit(const P* p, const G* g, const uint8_t* m, const float* m_scale,
                            const uint8_t* v, const float* v_scale, const double* lr,
                            const int64_t* step, const double* g_scale, const double* powers,
                            P* new_p, uint8_t* new_m, float* new_m_scale, uint8_t* new_v,
                            float* new_v_scale, int64_t n, const Update& u, const FourBits& of_m,
                            const FourBits& of_v) {
  __shared__ FourBits with_sign, without;
  if (threadIdx.x == 0) {
    with_sign = of_m;
    without = of_v;
  }
  const UpdateScalars s = shared_scalars(u, lr, step, g_scale, powers);
  const int64_t i = first_of_all() * 4, block = i / 128;
  if (i >= n) return;
  const bool is_finite = s.g_scale - s.g_scale == 0;
  float ms[4], vs[4];
  HONE_UNROLL
  for (int e = 0; e < 4; ++e) {
    const int64_t at = i + e;
    const int shift = e % 2 == 0 ? 4 : 0;
    Updated x = {wide(p[at]), {0.0f, 0.0f, 0.0f}};
    x.state[0] = __fmul_rn(with_sign.of[m[at / 2] >> shift & 15], m_scale[block]);
    x.state[1] = __fmul_rn(without.of[v[at / 2] >> shift & 15], v_scale[block]);
    if (is_finite) adamw_step(s, wide(g[at]), x);
    ms[e] = x.state[0];
    vs[e] = x.state[1];
    new_p[at] = is_finite ? weight_of<P>(x.p, u, at, step[0]) : p[at];
  }
  if (is_finite) {
    put_four_bits(ms, new_m, new_m_scale, i, with_sign);
    put_four_bits(vs, new_v, new_v_scale, i, without);
    return;
  }
  for (int64_t at = i / 2; at < i / 2 + 2; ++at) {
    new_m[at] = m[at];
    new_v[at] = v[at];
  }
  if (static_cast<int>(threadIdx.x) % kWarp != 0) return;
  new_m_scale[block] = m_scale[block];
  new_v_scale[block] = v_scale[block];
}

#define HONE_UPDATE(weights, P, gradients, G)                                                    \
  HONE_TILE_KERNEL(update_##weights##_##gradients, const double* lr, const int64_t* step,        \
                   const double* g_scale, const double* powers,                                  \
                   const __grid_constant__ Updates all) {                                        \
    update<P, G, false>(lr, step, g_scale, powers, all);                                         \
  }                                                                                              \
  HONE_TILE_KERNEL(adamw_##weights##_##gradients, const double* lr, const int64_t* step,         \
                   const double* g_scale, const double* powers,                                  \
                   const __grid_constant__ Updates all) {                                        \
    update<P, G, true>(lr, step, g_scale, powers, all);                                          \
  }                                                                                              \
  HONE_KERNEL(update_8bit_##weights##_##gradients, const P* p, const G* g, const uint8_t* m,     \
              const float* m_most, const uint8_t* v, const float* v_most, const double* lr,      \
              const int64_t* step, const double* g_scale, const double* powers, P* new_p,        \
              uint8_t* new_m, float* new_m_most, uint8_t* new_v, float* new_v_most, int64_t n,   \
              Update u, const __grid_constant__ Map with_sign,                                   \
              const __grid_constant__ Map without) {                                             \
    update_8bit(p, g, m, m_most, v, v_most, lr, step, g_scale, powers, new_p, new_m, new_m_most, \
                new_v, new_v_most, n, u, with_sign, without);                                    \
  }                                                                                              \
  HONE_KERNEL(update_4bit_##weights##_##gradients, const P* p, const G* g, const uint8_t* m,     \
              const float* m_scale, const uint8_t* v, const float* v_scale, const double* lr,    \
              const int64_t* step, const double* g_scale, const double* powers, P* new_p,        \
              uint8_t* new_m, float* new_m_scale, uint8_t* new_v, float* new_v_scale, int64_t n, \
              Update u, const __grid_constant__ FourBits with_sign,                              \
              const __grid_constant__ FourBits without) {                                        \
    update_4bit(p, g, m, m_scale, v, v_scale, lr, step, g_scale, powers, new_p, new_m,           \
                new_m_scale, new_v, new_v_scale, n, u, with_sign, without);                      \
  }
#define HONE_UPDATES(weights, P)       \
  HONE_UPDATE(weights, P, f32, float)  \
  HONE_UPDATE(weights, P, bf16, bf16)  \
  HONE_UPDATE(weights, P, f16, f16)
HONE_UPDATES(f32, float)
HONE_UPDATES(bf16, bf16)

HONE_KERNEL(split_halves, const float* x, uint16_t* out, int64_t n) {
  for (int64_t i = first_of_all(); i < n; i += all_threads()) {
    out[i] = upper_half_of(x[i]);
    out[n + i] = static_cast<uint16_t>(__float_as_uint(x[i]));
  }
}
HONE_KERNEL(join_halves, const uint16_t* x, float* out, int64_t n) {
  for (int64_t i = first_of_all(); i < n; i += all_threads())
    out[i] = number_of_halves(x[i], x[n + i]);
}

// The share of a thread in the squares of n elements, in f64. Its order is the same for any address.
template <class T>
__device__ __forceinline__ double squares_of(const T* x, int n) {
  constexpr int N = kPacked<T, T>, kTurn = N * kBlock, kAhead = 4;
  const bool whole = is_whole(x);
  double sum = 0;
  const auto add = [&](Wide<T> v) {
    const auto wider = static_cast<double>(v);
    sum = fma(wider, wider, sum);
  };
  int at = static_cast<int>(threadIdx.x) * N;
  for (; whole && at + (kAhead - 1) * kTurn + N <= n; at += kAhead * kTurn) {
    Wide<T> v[kAhead][N];
    HONE_UNROLL
    for (int k = 0; k < kAhead; ++k) load<N>(v[k], x + at + k * kTurn);
    HONE_UNROLL
    for (int k = 0; k < kAhead; ++k)
      HONE_UNROLL
      for (int e = 0; e < N; ++e) add(v[k][e]);
  }
  for (; at < n; at += kTurn)
    for (int e = 0; e < N && at + e < n; ++e) add(wide(x[at + e]));
  return sum;
}

// The squares of many tensors in f64: parts, a block for each, and where the parts of a tensor begin.
HONE_KERNEL(square_parts, double* parts, int* begins, const __grid_constant__ Squares all) {
  const int block = static_cast<int>(blockIdx.x);
  int k = 0, end = all.count;
  while (k + 1 < end) {
    const int middle = (k + end) / 2;
    (all.of[middle].first_block <= block ? k : end) = middle;
  }
  const SquareTensor& t = all.of[k];
  const int64_t begin = static_cast<int64_t>(block - t.first_block) * kSquared;
  const int here = t.size - begin < kSquared ? static_cast<int>(t.size - begin) : kSquared;
  double sum = 0;
  switch (t.type) {
    case Element::f64:
      sum = squares_of(static_cast<const double*>(t.x) + begin, here);
      break;
    case Element::f32:
      sum = squares_of(static_cast<const float*>(t.x) + begin, here);
      break;
    case Element::bf16:
      sum = squares_of(static_cast<const bf16*>(t.x) + begin, here);
      break;
    case Element::f16:
      sum = squares_of(static_cast<const f16*>(t.x) + begin, here);
      break;
  }
  sum = reduce_block(sum, [](double a, double b) { return a + b; });
  if (threadIdx.x != 0) return;
  parts[all.first_part + block] = sum;
  if (block == t.first_block) begins[all.first_tensor + k] = all.first_part + block;
  if (block + 1 == all.blocks) begins[all.first_tensor + all.count] = all.first_part + all.blocks;
}

// A warp for each tensor.
HONE_KERNEL(add_square_parts, const double* parts, const int* begins, double* out, int64_t count) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t t = first_of_all() / kWarp; t < count; t += all_threads() / kWarp) {
    double sum = 0;
    for (int part = begins[t] + lane; part < begins[t + 1]; part += kWarp) sum += parts[part];
    for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
    if (lane == 0) out[t] = sum;
  }
}

// clip_scale (engine/ops/clip_scale.cc), by one block. Absent operands are null.
HONE_KERNEL(clip_scale, const double* squares, const double* loss_scale, const float* loss,
            double* norm, double* scale, int64_t n, double max_norm) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kBlock) sum += squares[i];
  sum = reduce_block(sum, [](double a, double b) { return a + b; });
  if (threadIdx.x != 0) return;
  double length = sqrt(sum), by = 1;
  if (loss_scale != nullptr) length = length / loss_scale[0];
  if (max_norm > 0) {
    const double ratio = max_norm / (length + 1e-6);
    by = by != by || by < ratio ? by : ratio;
  }
  if (loss_scale != nullptr) by = by / loss_scale[0];
  by = by + (length - length);
  if (loss != nullptr) {
    const auto of_loss = static_cast<double>(loss[0]);
    by = by + (of_loss - of_loss);
  }
  norm[0] = length;
  scale[0] = by;
}

}  // namespace hone::cuda
