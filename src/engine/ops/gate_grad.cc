// gate_grad(a, x, dy) = (dy x f'(a), dy f(a)): the gradients of gate(a, x) = f(a) x, f by `kind`. With
// attribute `remade` also f(a) x, so that the forward pass need not keep it.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_gate_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_same(n, 0, 1));
  HONE_TRY(expect_same(n, 0, 2));
  Types made{n.in(0), n.in(0)};
  if (n.flag("remade")) made.push_back(n.in(0));
  return made;
}

Values decompose_gate_grad(Builder& b, const NodeView& n) {
  std::string kind = n.text("kind");
  ValueId a = widened(b, n.input(0)), x = widened(b, n.input(1)), dy = widened(b, n.input(2));
  ValueId da = ops::activation_grad(b, a, ops::mul(b, dy, x), kind);
  ValueId dx = ops::mul(b, dy, ops::activation(b, a, kind));
  Values made{ops::cast(b, da, n.out(0).dtype), ops::cast(b, dx, n.out(1).dtype)};
  if (n.flag("remade")) made.push_back(b.emit1("gate", {n.input(0), n.input(1)}, {{"kind", kind}}));
  return made;
}

Cost cost_gate_grad(const NodeView& n) { return elementwise(n, 45); }

}  // namespace

Op define_gate_grad() {
  return {.name = "gate_grad",
          .operands = {"a", "x", "dy"},
          .attrs = {required("kind", "", activation_kinds()), {"remade", false}},
          .infer = infer_gate_grad,
          .decompositions = {decompose_gate_grad},
          .cost = cost_gate_grad,
          .over = {{0, "a"}, {1, "x"}, {2, "dy"}},
          .optional_results = {"remade"}};
}

}  // namespace hone
