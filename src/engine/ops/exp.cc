// exp(x) = e^x, elementwise on floating-point x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_exp(Builder& b, const NodeView& n, const Values& d) {
  return {ops::mul(b, d[0], n.output(0))};
}

Cost cost_exp(const NodeView& n) { return elementwise(n, 8); }

}  // namespace

Op define_exp() {
  return {.name = "exp",
          .operands = {"x"},
          .infer = same_as_first,
          .grad = grad_exp,
          .cost = cost_exp,
          .over = {{0, "x"}}};
}

ValueId ops::exp(Builder& b, ValueId x) { return b.emit1("exp", {x}); }

}  // namespace hone
