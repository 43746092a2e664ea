// add(x, y) = x + y, elementwise; shapes are equal or one operand is a scalar.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_add(Builder& b, const NodeView& n, const Values& d) {
  Type x = n.in(0), y = n.in(1);
  return {fit(b, d[0], x), fit(b, d[0], y)};
}

}  // namespace

Op define_add() {
  return {.name = "add",
          .operands = {"x", "y"},
          .infer = same_as_both,
          .grad = grad_add,
          .over = {{0, "x"}},
          .sum = true,
          .neutral = -0.0};
}

ValueId ops::add(Builder& b, ValueId x, ValueId y) { return b.emit1("add", {x, y}); }

}  // namespace hone
