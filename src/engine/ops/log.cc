// log(x) = natural logarithm of x, elementwise on floating-point x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_log(Builder& b, const NodeView& n, const Values& d) {
  return {ops::div(b, d[0], n.input(0))};
}

Cost cost_log(const NodeView& n) { return elementwise(n, 8); }

}  // namespace

Op define_log() {
  return {.name = "log",
          .operands = {"x"},
          .infer = same_as_first,
          .grad = grad_log,
          .cost = cost_log,
          .over = {{0, "x"}}};
}

ValueId ops::log(Builder& b, ValueId x) { return b.emit1("log", {x}); }

}  // namespace hone
