// tanh(x) = hyperbolic tangent of x, elementwise on floating-point x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_tanh(Builder& b, const NodeView& n, const Values& d) {
  ValueId y2 = ops::mul(b, n.output(0), n.output(0));
  return {ops::mul(b, d[0], ops::sub(b, number(b, 1, y2), y2))};
}

Cost cost_tanh(const NodeView& n) { return elementwise(n, 12); }

}  // namespace

Op define_tanh() {
  return {.name = "tanh",
          .operands = {"x"},
          .infer = same_as_first,
          .grad = grad_tanh,
          .cost = cost_tanh,
          .over = {{0, "x"}}};
}

ValueId ops::tanh(Builder& b, ValueId x) { return b.emit1("tanh", {x}); }

}  // namespace hone
