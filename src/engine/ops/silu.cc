// silu(x) = x / (1 + exp(-x))
#include "engine/ops/support.h"

namespace hone {
namespace {

Values decompose_silu(Builder& b, const NodeView& n) {
  ValueId x = widened(b, n.input(0));
  ValueId y = ops::div(b, x, ops::add(b, ops::exp(b, ops::neg(b, x)), number(b, 1, x)));
  return {ops::cast(b, y, n.out(0).dtype)};
}

Values grad_silu(Builder& b, const NodeView& n, const Values& d) {
  return {ops::activation_grad(b, n.input(0), d[0], "silu")};
}

Cost cost_silu(const NodeView& n) { return elementwise(n, 12); }

}  // namespace

Op define_silu() {
  return {.name = "silu",
          .operands = {"x"},
          .infer = same_as_first,
          .decompositions = {decompose_silu},
          .grad = grad_silu,
          .cost = cost_silu,
          .over = {{0, "x"}},
          .activation = true};
}

ValueId ops::silu(Builder& b, ValueId x) { return b.emit1("silu", {x}); }

}  // namespace hone
