// relu(x) = max(x, 0)
#include "engine/ops/support.h"

namespace hone {
namespace {

Values decompose_relu(Builder& b, const NodeView& n) {
  ValueId x = n.input(0);
  return {ops::maximum(b, x, number(b, 0, x))};
}

Values grad_relu(Builder& b, const NodeView& n, const Values& d) {
  return {ops::activation_grad(b, n.input(0), d[0], "relu")};
}

Cost cost_relu(const NodeView& n) { return elementwise(n, 1); }

}  // namespace

Op define_relu() {
  return {.name = "relu",
          .operands = {"x"},
          .infer = same_as_first,
          .decompositions = {decompose_relu},
          .grad = grad_relu,
          .cost = cost_relu,
          .over = {{0, "x"}},
          .activation = true};
}

ValueId ops::relu(Builder& b, ValueId x) { return b.emit1("relu", {x}); }

}  // namespace hone
