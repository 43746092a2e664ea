// cos(x) = cosine of x in radians, elementwise on floating-point x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_cos(Builder& b, const NodeView& n, const Values& d) {
  return {ops::neg(b, ops::mul(b, d[0], ops::sin(b, n.input(0))))};
}

Cost cost_cos(const NodeView& n) { return elementwise(n, 12); }

}  // namespace

Op define_cos() {
  return {.name = "cos",
          .operands = {"x"},
          .infer = same_as_first,
          .grad = grad_cos,
          .cost = cost_cos,
          .over = {{0, "x"}}};
}

ValueId ops::cos(Builder& b, ValueId x) { return b.emit1("cos", {x}); }

}  // namespace hone
