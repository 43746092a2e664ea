// erf(x) = 2/sqrt(pi) * integral of exp(-t^2) over t from 0 to x, elementwise on floating-point x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_erf(Builder& b, const NodeView& n, const Values& d) {
  ValueId slope = ops::exp(b, ops::neg(b, ops::mul(b, n.input(0), n.input(0))));
  return {
      ops::mul(b, d[0], ops::mul(b, slope, number(b, 1.1283791670955126, slope)))};  // 2/sqrt(pi)
}

Cost cost_erf(const NodeView& n) { return elementwise(n, 16); }

}  // namespace

Op define_erf() {
  return {.name = "erf",
          .operands = {"x"},
          .infer = same_as_first,
          .grad = grad_erf,
          .cost = cost_erf,
          .over = {{0, "x"}}};
}

ValueId ops::erf(Builder& b, ValueId x) { return b.emit1("erf", {x}); }

}  // namespace hone
