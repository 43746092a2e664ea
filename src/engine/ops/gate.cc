// gate(a, x) = f(a) * x, f named by attribute `kind` as in activation_grad.   a, x of one type.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_gate(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_same(n, 0, 1));
  return Types{n.in(0)};
}

Values decompose_gate(Builder& b, const NodeView& n) {
  ValueId a = widened(b, n.input(0)), x = widened(b, n.input(1));
  ValueId y = ops::mul(b, ops::activation(b, a, n.text("kind")), x);
  return {ops::cast(b, y, n.out(0).dtype)};
}

Values grad_gate(Builder& b, const NodeView& n, const Values& d) {
  return b.emit("gate_grad", {n.input(0), n.input(1), d[0]}, {{"kind", n.text("kind")}});
}

Cost cost_gate(const NodeView& n) { return elementwise(n, 15); }

}  // namespace

Op define_gate() {
  return {.name = "gate",
          .operands = {"a", "x"},
          .attrs = {required("kind", "", activation_kinds())},
          .infer = infer_gate,
          .decompositions = {decompose_gate},
          .grad = grad_gate,
          .cost = cost_gate,
          .over = {{0, "a"}}};
}

ValueId ops::gate(Builder& b, ValueId a, ValueId x, const std::string& kind) {
  return b.emit1("gate", {a, x}, {{"kind", kind}});
}

}  // namespace hone
