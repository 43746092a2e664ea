// sqrt(x) = square root of x, elementwise on floating-point x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_sqrt(Builder& b, const NodeView& n, const Values& d) {
  return {ops::div(b, ops::mul(b, d[0], number(b, 0.5, d[0])), n.output(0))};
}

Cost cost_sqrt(const NodeView& n) { return elementwise(n, 4); }

}  // namespace

Op define_sqrt() {
  return {.name = "sqrt",
          .operands = {"x"},
          .infer = same_as_first,
          .grad = grad_sqrt,
          .cost = cost_sqrt,
          .over = {{0, "x"}}};
}

ValueId ops::sqrt(Builder& b, ValueId x) { return b.emit1("sqrt", {x}); }

}  // namespace hone
