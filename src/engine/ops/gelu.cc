// gelu(x) = x/2 * (1 + erf(x / sqrt 2))
#include "engine/ops/support.h"

namespace hone {
namespace {

Values decompose_gelu(Builder& b, const NodeView& n) {
  ValueId x = widened(b, n.input(0));
  ValueId t = ops::erf(b, ops::mul(b, x, number(b, 0.7071067811865476, x)));
  ValueId y = ops::mul(b, ops::mul(b, x, number(b, 0.5, x)), ops::add(b, t, number(b, 1, x)));
  return {ops::cast(b, y, n.out(0).dtype)};
}

Values grad_gelu(Builder& b, const NodeView& n, const Values& d) {
  return {ops::activation_grad(b, n.input(0), d[0], "gelu")};
}

Cost cost_gelu(const NodeView& n) { return elementwise(n, 20); }

}  // namespace

Op define_gelu() {
  return {.name = "gelu",
          .operands = {"x"},
          .infer = same_as_first,
          .decompositions = {decompose_gelu},
          .grad = grad_gelu,
          .cost = cost_gelu,
          .over = {{0, "x"}},
          .activation = true};
}

ValueId ops::gelu(Builder& b, ValueId x) { return b.emit1("gelu", {x}); }

}  // namespace hone
