// The loss and the gradient of the logits of linear_cross_entropy (engine/ops/linear_cross_entropy.cc). A block of
// kRowThreads threads computes a row.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// The largest of some logits, and the sum of exp(logit - largest). A NaN is the largest.
struct Exponentials {
  float most = -1.0f / 0.0f, sum = 0;

  template <int N>
  __device__ __forceinline__ void add(const float (&x)[N]) {
    float larger = most;
    HONE_UNROLL
    for (int e = 0; e < N; ++e) larger = x[e] != x[e] || x[e] > larger ? x[e] : larger;
    if (!(larger == most)) {
      sum *= power(most, larger);
      most = larger;
    }
    HONE_UNROLL
    for (int e = 0; e < N; ++e) sum += power(x[e], most);
  }
  // exp(x - largest); 0 of what is minus infinity.
  static __device__ __forceinline__ float power(float x, float largest) {
    return x == -1.0f / 0.0f ? 0.0f : exp2f((x - largest) * 1.4426950408889634f);
  }
};

__device__ __forceinline__ float bias_at(const void* bias, Element type, int64_t j) {
  return bias == nullptr           ? 0.0f
         : type == Element::f32    ? static_cast<const float*>(bias)[j]
         : type == Element::bf16   ? wide(static_cast<const bf16*>(bias)[j])
                                   : wide(static_cast<const f16*>(bias)[j]);
}

// A row of logits without their bias, `packed` of which are read by packs, the others one by one. It is read once
// where `kept` has room for it, else twice.
template <class L>
struct Logits {
  static constexpr int N = kPacked<L, L>;
  const L* from;
  L* kept;  // null: no room
  const void* bias;
  Element bias_type;
  int64_t packed, columns;

  __device__ __forceinline__ float one(int64_t j) const {
    return wide(from[j]) + bias_at(bias, bias_type, j);
  }
  __device__ __forceinline__ void pack(float (&x)[N], const L* at, int64_t j) const {
    load<N>(x, at + j);
    if (bias == nullptr) return;
    HONE_UNROLL
    for (int e = 0; e < N; ++e) x[e] += bias_at(bias, bias_type, j + e);
  }
  // A thread's share; `all`: the sum of the logits.
  __device__ __forceinline__ Exponentials share_of(int tid, float& all) const {
    Exponentials own;
    HONE_UNROLL_BY(4)
    for (int64_t j = tid * N; j < packed; j += kRowThreads * N) {
      float x[N];
      pack(x, from, j);
      if (kept != nullptr) *reinterpret_cast<Pack<L, N>*>(kept + j) = get_pack<N>(from + j);
      own.add(x);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) all += x[e];
    }
    for (int64_t j = packed + tid; j < columns; j += kRowThreads) {
      const float x[1] = {one(j)};
      own.add(x);
      all += x[0];
    }
    return own;
  }
  // Whether a column before `label` holds the largest logit too.
  __device__ __forceinline__ bool has_before(int64_t label, float most, int tid) const {
    int before = 0;
    for (int64_t j = tid; j < label; j += kRowThreads) before |= one(j) == most ? 1 : 0;
    return reduce_block<kRowThreads>(before, [](int x, int y) { return x | y; }) != 0;
  }
  // f(logit, column) of all columns to `to`, and zeros up to `step`.
  template <class D, class F>
  __device__ __forceinline__ void put(D* to, int64_t step, int tid, F f) const {
    const L* const again = kept != nullptr ? kept : from;
    for (int64_t j = tid * N; j < packed; j += kRowThreads * N) {
      float x[N];
      pack(x, again, j);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) x[e] = f(x[e], j + e);
      store<N>(to + j, x);
    }
    for (int64_t j = packed + tid; j < step; j += kRowThreads)
      to[j] = Narrow<D>::of(j < columns ? f(one(j), j) : 0.0f);
  }
};

// logits: [rows, step], of which the first `columns` are used. The gradient is written to d, which may be the same
// address.
template <class L, class D>
__device__ __forceinline__ void cross_entropy_rows(const L* logits, const void* bias,
                                                   const int32_t* labels, const float* scale,
                                                   const float* weights, float* nll, int32_t* correct, D* d,
                                                   const Entropy& of) {
  constexpr int N = Logits<L>::N;
  HONE_DYNAMIC_SHARED(L, kept);
  const auto plus = [](float x, float y) { return x + y; };
  const float share = of.smoothing / static_cast<float>(of.columns);
  const bool whole = of.step % N == 0 && is_whole(logits) && is_whole(d);
  const int tid = static_cast<int>(threadIdx.x);
  for (int64_t row = blockIdx.x; row < of.rows; row += gridDim.x) {
    const Logits<L> x = {logits + row * of.step,         of.keeps_row ? kept : nullptr, bias, of.bias,
                         whole ? of.columns / N * N : 0, of.columns};
    const int64_t label = labels[row];
    const bool is_valid = label >= 0;
    const float picked = is_valid ? x.one(label) : 0.0f;
    float all = 0;
    const Exponentials own = x.share_of(tid, all);
    const float most = reduce_block<kRowThreads>(
        own.most, [](float a, float b) { return b != b || b > a ? b : a; });
    const float sum =
        reduce_block<kRowThreads>(own.sum * Exponentials::power(own.most, most), plus);
    if (of.smoothing != 0) all = reduce_block<kRowThreads>(all, plus);
    const bool is_first = is_valid && picked == most && !x.has_before(label, most, tid);
    if (tid == 0) {
      const float of_label =
          picked * (1.0f - of.smoothing) + (of.smoothing != 0 ? all * share : 0.0f);
      nll[row] = is_valid ? logf(sum) + most - of_label : 0.0f;
      correct[row] = is_first ? 1 : 0;
    }
    if (!of.has_gradients) continue;
    const float weight = weights == nullptr ? 1.0f : weights[row];
    const float factor = is_valid ? scale[0] * weight : 0.0f, inverse = 1.0f / sum;
    x.put(d + row * of.step, of.step, tid, [&](float v, int64_t j) {
      const float q = (j == label ? 1.0f - of.smoothing : 0.0f) + share;
      return is_valid ? (Exponentials::power(v, most) * inverse - q) * factor : 0.0f;
    });
    __syncthreads();  // the next row goes where this one is kept
  }
}

#define HONE_CROSS_ENTROPY(logits_type, L, name, D)                                              \
  HONE_ROW_KERNEL(cross_entropy_##logits_type##_##name, const L* logits, const void* bias,       \
                  const int32_t* labels, const float* scale, const float* weights, float* nll,   \
                  int32_t* correct, D* d, Entropy of) {                                          \
    cross_entropy_rows(logits, bias, labels, scale, weights, nll, correct, d, of);               \
  }
HONE_CROSS_ENTROPY(f32, float, f32, float)
HONE_CROSS_ENTROPY(f32, float, bf16, bf16)
HONE_CROSS_ENTROPY(f32, float, f16, f16)
HONE_CROSS_ENTROPY(bf16, bf16, bf16, bf16)
HONE_CROSS_ENTROPY(f16, f16, f16, f16)

// One block. Without weights each is 1.
HONE_KERNEL(scaled_sum, const float* x, const float* weights, const float* scale, float* out,
            int64_t n) {
  float sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kBlock)
    sum += weights == nullptr ? x[i] : x[i] * weights[i];
  sum = reduce_block(sum, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) out[0] = sum * scale[0];
}

}  // namespace hone::cuda
