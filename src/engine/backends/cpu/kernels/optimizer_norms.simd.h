// The optimizers LAMB and Adafactor, which need norms of tensors, or means of rows and columns.
#include "engine/backends/cpu/isa/simd.h"
#include "engine/backends/cpu/kernels/optimizer.h"
#include "engine/backends/cpu/kernels/optimizer_kernels.h"

namespace hone::cpu::HONE_ISA {

namespace {

HONE_INLINE F lamb_change(const LambScalars& s, F p, F m, F v) {
  const F below = sqrt(v) / set1(s.root_correction2) + set1(s.eps);
  return fma(set1(s.decay), p, m / set1(s.correction1) / below);
}

}  // namespace

void lamb_moments_range(const UpdateTensor& t, const LambScalars& s, int64_t begin, int64_t end,
                        double* squares) {
  float *const ms = t.state[0], *const vs = t.state[1];
  F weight = zero(), size = zero();
  for_vectors(
      begin, end, HONE_VECTOR {
        const F p = get(t.p + i, whole, n),
                g = get(t.g.data, t.g.type, i, whole, n) * set1(s.gradient_scale);
        F m = get(ms + i, whole, n), v = get(vs + i, whole, n);
        m = fma(g - m, set1(s.one_minus_beta1), m);
        v = fma(g * set1(s.one_minus_beta2), g, v * set1(s.beta2));
        put(ms + i, m, whole, n);
        put(vs + i, v, whole, n);
        F change = lamb_change(s, p, m, v);
        if constexpr (!decltype(whole)::value)  // with eps 0, lanes after the end have 0 / 0
          change = select(lane_index() < set1(static_cast<int32_t>(n)), change, zero());
        weight = fma(p, p, weight);
        size = fma(change, change, size);
      });
  squares[0] = static_cast<double>(reduce_add(weight));
  squares[1] = static_cast<double>(reduce_add(size));
}

void lamb_apply_range(const UpdateTensor& t, const LambScalars& s, float rate, int64_t begin,
                      int64_t end) {
  for_vectors(
      begin, end, HONE_VECTOR {
        const F p = get(t.p + i, whole, n);
        const F change =
            lamb_change(s, p, get(t.state[0] + i, whole, n), get(t.state[1] + i, whole, n));
        put(t.p + i, fnma(set1(rate), change, p), whole, n);
      });
}

// Returns the sum of (scale * g)^2 over a row, and adds the square of element i to columns[i]. first: number of the
// row's first element in g.
float adafactor_squares_row(const Numbers& g, int64_t first, float scale, int64_t count,
                            float* columns) {
  F sum = zero();
  for_vectors(
      0, count, HONE_VECTOR {
        const F x = get(g.data, g.type, first + i, whole, n) * set1(scale), square = x * x;
        sum = sum + square;
        put(columns + i, get(columns + i, whole, n) + square, whole, n);
      });
  return reduce_add(sum);
}

// Returns the sum of (g * column_root)^2 over a row.
float adafactor_change_row(const Numbers& g, int64_t first, const float* column_root,
                           int64_t count) {
  F sum = zero();
  for_vectors(
      0, count, HONE_VECTOR {
        const F x = get(g.data, g.type, first + i, whole, n) * get(column_root + i, whole, n);
        sum = fma(x, x, sum);
      });
  return reduce_add(sum);
}

// p = p * decay - factor * g * column_root, for a row.
void adafactor_apply_row(float* p, const Numbers& g, int64_t first, const float* column_root,
                         float decay, float factor, int64_t count) {
  for_vectors(
      0, count, HONE_VECTOR {
        const F x = get(g.data, g.type, first + i, whole, n) * get(column_root + i, whole, n);
        put(p + i, fnma(set1(factor), x, get(p + i, whole, n) * set1(decay)), whole, n);
      });
}

}  // namespace hone::cpu::HONE_ISA
