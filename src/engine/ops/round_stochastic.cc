// round_stochastic(x, step): x as bf16, rounded up or down at random, so that the mean over many
// seeds is x (Gupta et al., "Deep Learning with Limited Numerical Precision", ICML 2015). An f32
// has 32 bits, of which bf16 keeps the upper 16: the result is the upper half of bits(x) + r, where
// r is one of 2^16 equally probable numbers. So x is rounded away from zero with the probability of
// what its lower half is of 2^16; a number that bf16 holds stays as it is, and so do infinities;
// NaN stays NaN.
//
// r of element i of a tensor is a function of key, step and n = first + i alone: with w the words
// of the Philox4x32-10 block of counter {lo32(c), hi32(c), lo32(step), hi32(step)}, c = n / 128 *
// 16 + n % 16, and key {lo32(key), hi32(key)}, r is the lower half of w[n / 16 % 4] where n % 128 <
// 64, else the upper one. (Sixteen lanes yield 128 consecutive elements without a shuffle.) `first`
// is where x begins in its tensor, so parts of a tensor are rounded as the whole.
// x f32 (f64: as f32), step i64[] -> bf16 of x's shape.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_round_stochastic(const NodeView& n) {
  HONE_TRY(expect_type(n, 1, {DType::i64, {}}));
  const DType x = n.in(0).dtype;
  if (x != DType::f32 && x != DType::f64) return bad_operands(n, "x is f32 or f64");
  if (n.integer("first") < 0) return bad_operands(n, "first is 0 or more");
  return Types{{DType::bf16, n.in(0).shape}};
}

Cost cost_round_stochastic(const NodeView& n) { return elementwise(n, 8); }

}  // namespace

Op define_round_stochastic() {
  return {.name = "round_stochastic",
          .operands = {"x", "step"},
          .attrs = {required("key", 0), AttrSpec{"first", int64_t{0}}},
          .infer = infer_round_stochastic,
          .cost = cost_round_stochastic};
}

ValueId ops::round_stochastic(Builder& b, ValueId x, ValueId step, int64_t key, int64_t first) {
  Attrs attrs{{"key", key}};
  if (first != 0) attrs.set("first", first);
  return b.emit1("round_stochastic", {x, step}, attrs);
}

}  // namespace hone
