// neg(x) = -x, elementwise on floating-point x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_neg(Builder& b, const NodeView& n, const Values& d) { return {ops::neg(b, d[0])}; }

Cost cost_neg(const NodeView& n) { return elementwise(n, 1); }

}  // namespace

Op define_neg() {
  return {.name = "neg",
          .operands = {"x"},
          .infer = same_as_first,
          .grad = grad_neg,
          .cost = cost_neg,
          .over = {{0, "x"}}};
}

ValueId ops::neg(Builder& b, ValueId x) { return b.emit1("neg", {x}); }

}  // namespace hone
