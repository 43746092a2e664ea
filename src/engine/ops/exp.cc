// exp(x) = e^x, elementwise on floating-point x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad(Builder& b, const NodeView& n, const Values& d) {
  return {ops::mul(b, d[0], n.output(0))};
}

Cost cost(const NodeView& n) { return elementwise(n, 8); }

}  // namespace

Op define_exp() {
  return {.name = "exp",
          .operands = {"x"},
          .infer = same_as_first,
          .grad = grad,
          .cost = cost,
          .over = {{0, "x"}}};
}

ValueId ops::exp(Builder& b, ValueId x) { return b.emit1("exp", {x}); }

}  // namespace hone
