// maximum(x, y) = the larger of x and y (of bool: or), elementwise; shapes are equal or one operand
// is a scalar.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_maximum(Builder& b, const NodeView& n, const Values& d) {
  Type x = n.in(0), y = n.in(1);
  // The gradient of equal elements goes to x.
  ValueId mine = ops::compare(b, n.output(0), n.input(0), "eq");
  ValueId zero = number(b, 0, d[0]);
  return {fit(b, ops::select(b, mine, d[0], zero), x), fit(b, ops::select(b, mine, zero, d[0]), y)};
}

}  // namespace

Op define_maximum() {
  return {.name = "maximum",
          .operands = {"x", "y"},
          .infer = same_as_both,
          .grad = grad_maximum,
          .over = {{0, "x"}}};
}

ValueId ops::maximum(Builder& b, ValueId x, ValueId y) { return b.emit1("maximum", {x, y}); }

}  // namespace hone
