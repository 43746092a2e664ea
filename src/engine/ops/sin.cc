// sin(x) = sine of x in radians, elementwise on floating-point x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_sin(Builder& b, const NodeView& n, const Values& d) {
  return {ops::mul(b, d[0], ops::cos(b, n.input(0)))};
}

Cost cost_sin(const NodeView& n) { return elementwise(n, 12); }

}  // namespace

Op define_sin() {
  return {.name = "sin",
          .operands = {"x"},
          .infer = same_as_first,
          .grad = grad_sin,
          .cost = cost_sin,
          .over = {{0, "x"}}};
}

ValueId ops::sin(Builder& b, ValueId x) { return b.emit1("sin", {x}); }

}  // namespace hone
