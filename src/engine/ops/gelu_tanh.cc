// gelu_tanh(x) = x/2 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): GPT-2's gelu_new
#include "engine/ops/support.h"

namespace hone {
namespace {

Values decompose_gelu_tanh(Builder& b, const NodeView& n) {
  ValueId x = widened(b, n.input(0));
  ValueId cube = ops::mul(b, ops::mul(b, x, x), ops::mul(b, x, number(b, 0.044715, x)));
  ValueId t = ops::tanh(b, ops::mul(b, ops::add(b, x, cube), number(b, 0.7978845608028654, x)));
  ValueId y = ops::mul(b, ops::mul(b, x, number(b, 0.5, x)), ops::add(b, t, number(b, 1, x)));
  return {ops::cast(b, y, n.out(0).dtype)};
}

Values grad_gelu_tanh(Builder& b, const NodeView& n, const Values& d) {
  return {ops::activation_grad(b, n.input(0), d[0], "gelu_tanh")};
}

Cost cost_gelu_tanh(const NodeView& n) { return elementwise(n, 20); }

}  // namespace

Op define_gelu_tanh() {
  return {.name = "gelu_tanh",
          .operands = {"x"},
          .infer = same_as_first,
          .decompositions = {decompose_gelu_tanh},
          .grad = grad_gelu_tanh,
          .cost = cost_gelu_tanh,
          .over = {{0, "x"}},
          .activation = true};
}

ValueId ops::gelu_tanh(Builder& b, ValueId x) { return b.emit1("gelu_tanh", {x}); }

}  // namespace hone
