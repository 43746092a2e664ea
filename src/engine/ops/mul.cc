// mul(x, y) = x * y, elementwise; shapes are equal or one operand is a scalar.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_mul(Builder& b, const NodeView& n, const Values& d) {
  Type x = n.in(0), y = n.in(1);
  return {fit(b, ops::mul(b, d[0], n.input(1)), x), fit(b, ops::mul(b, d[0], n.input(0)), y)};
}

}  // namespace

Op define_mul() {
  return {.name = "mul",
          .operands = {"x", "y"},
          .infer = same_as_both,
          .grad = grad_mul,
          .over = {{0, "x"}},
          .neutral = 1.0};
}

ValueId ops::mul(Builder& b, ValueId x, ValueId y) { return b.emit1("mul", {x, y}); }

}  // namespace hone
