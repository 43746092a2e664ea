// gate_grad(a, x, dy) = (dy x f'(a), dy f(a)): the gradients of gate(a, x) = f(a) x, f by `kind`.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer(const NodeView& n) {
  HONE_TRY(expect_inputs(n, 3, 3));
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_same(n, 0, 1));
  HONE_TRY(expect_same(n, 0, 2));
  HONE_TRY(expect_activation(n, n.attrs().text("kind")));
  return Types{n.in(0), n.in(0)};
}

Values decompose(Builder& b, const NodeView& n) {
  std::string kind = n.attrs().text("kind");
  ValueId da = ops::activation_grad(b, n.input(0), ops::mul(b, n.input(2), n.input(1)), kind);
  return {da, ops::mul(b, n.input(2), ops::activation(b, n.input(0), kind))};
}

Cost cost(const NodeView& n) { return elementwise(n, 45); }

}  // namespace

Op define_gate_grad() { return {"gate_grad", infer, decompose, nullptr, cost, {0, 1}}; }

}  // namespace hone
