// div(x, y) = x / y (integers: towards zero), elementwise; shapes are equal or one operand is a
// scalar.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_div(Builder& b, const NodeView& n, const Values& d) {
  Type x = n.in(0), y = n.in(1);
  ValueId dx = ops::div(b, d[0], n.input(1));
  return {fit(b, dx, x), fit(b, ops::neg(b, ops::mul(b, dx, n.output(0))), y)};
}

}  // namespace

Op define_div() {
  return {.name = "div",
          .operands = {"x", "y"},
          .infer = same_as_both,
          .grad = grad_div,
          .over = {{0, "x"}}};
}

ValueId ops::div(Builder& b, ValueId x, ValueId y) { return b.emit1("div", {x, y}); }

}  // namespace hone
