// gate_grad(a, x, dy) = (dy x f'(a), dy f(a)): the gradients of gate(a, x) = f(a) x, f by `kind`.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_gate_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_same(n, 0, 1));
  HONE_TRY(expect_same(n, 0, 2));
  return Types{n.in(0), n.in(0)};
}

Values decompose_gate_grad(Builder& b, const NodeView& n) {
  std::string kind = n.text("kind");
  ValueId a = widened(b, n.input(0)), x = widened(b, n.input(1)), dy = widened(b, n.input(2));
  ValueId da = ops::activation_grad(b, a, ops::mul(b, dy, x), kind);
  ValueId dx = ops::mul(b, dy, ops::activation(b, a, kind));
  return {ops::cast(b, da, n.out(0).dtype), ops::cast(b, dx, n.out(1).dtype)};
}

Cost cost_gate_grad(const NodeView& n) { return elementwise(n, 45); }

}  // namespace

Op define_gate_grad() {
  return {.name = "gate_grad",
          .operands = {"a", "x", "dy"},
          .attrs = {required("kind", "", activation_kinds())},
          .infer = infer_gate_grad,
          .decompositions = {decompose_gate_grad},
          .cost = cost_gate_grad,
          .over = {{0, "a"}, {1, "x"}}};
}

}  // namespace hone
