// sub(x, y) = x - y, elementwise; shapes are equal or one operand is a scalar.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_sub(Builder& b, const NodeView& n, const Values& d) {
  Type x = n.in(0), y = n.in(1);
  return {fit(b, d[0], x), fit(b, ops::neg(b, d[0]), y)};
}

}  // namespace

Op define_sub() {
  return {.name = "sub",
          .operands = {"x", "y"},
          .infer = same_as_both,
          .grad = grad_sub,
          .over = {{0, "x"}}};
}

ValueId ops::sub(Builder& b, ValueId x, ValueId y) { return b.emit1("sub", {x, y}); }

}  // namespace hone
