// activation_grad(x, dy) = dy * f'(x), f named by attribute `kind`: gelu, gelu_tanh, silu, relu. With
// attribute `remade` also f(x), so that the forward pass need not keep it. With attribute `sums`,
// for x [T,C], also the sums of the rows of the first result as it is kept: f32[C], the gradient of a bias that
// was added to x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_activation_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_same(n, 0, 1));
  Types made{n.in(0)};
  if (n.flag("remade")) made.push_back(n.in(0));
  if (!n.flag("sums")) return made;
  HONE_TRY(expect_rank(n, 0, 2));
  made.push_back({wide(n.in(0).dtype), {n.in(0).shape[1]}});
  return made;
}

// Phi(x) + x phi(x), the normal distribution and its density.
ValueId gelu_slope(Builder& b, ValueId x) {
  ValueId phi =
      ops::add(b, ops::erf(b, ops::mul(b, x, number(b, 0.7071067811865476, x))), number(b, 1, x));
  ValueId density = ops::exp(b, ops::mul(b, ops::mul(b, x, x), number(b, -0.5, x)));
  density = ops::mul(b, density, number(b, 0.3989422804014327, x));  // 1/sqrt(2 pi)
  return ops::add(b, ops::mul(b, phi, number(b, 0.5, x)), ops::mul(b, x, density));
}

// (1 + t)/2 + x/2 (1 - t^2) k (1 + 3 c x^2), t = tanh(k (x + c x^3))
ValueId gelu_tanh_slope(Builder& b, ValueId x) {
  ValueId one = number(b, 1, x), half = number(b, 0.5, x), k = number(b, 0.7978845608028654, x);
  ValueId cx2 = ops::mul(b, ops::mul(b, x, x), number(b, 0.044715, x));
  ValueId t = ops::tanh(b, ops::mul(b, ops::mul(b, x, ops::add(b, cx2, one)), k));
  ValueId inner = ops::mul(b, ops::add(b, ops::mul(b, cx2, number(b, 3, x)), one), k);
  ValueId slope =
      ops::mul(b, ops::mul(b, ops::mul(b, x, half), ops::sub(b, one, ops::mul(b, t, t))), inner);
  return ops::add(b, ops::mul(b, ops::add(b, t, one), half), slope);
}

// s (1 + x (1 - s)), s = 1 / (1 + exp(-x))
ValueId silu_slope(Builder& b, ValueId x) {
  ValueId one = number(b, 1, x);
  ValueId s = ops::div(b, one, ops::add(b, ops::exp(b, ops::neg(b, x)), one));
  return ops::mul(b, s, ops::add(b, ops::mul(b, x, ops::sub(b, one, s)), one));
}

Values with_others(Builder& b, const NodeView& n, ValueId dx) {
  Values made{dx};
  if (n.flag("remade"))
    made.push_back(
        ops::cast(b, ops::activation(b, widened(b, n.input(0)), n.text("kind")), n.out(0).dtype));
  return with_row_sums(b, n, std::move(made));
}

Values decompose_activation_grad(Builder& b, const NodeView& n) {
  std::string kind = n.text("kind");
  ValueId x = widened(b, n.input(0)), dy = widened(b, n.input(1));
  const auto times = [&](ValueId slope) {
    return with_others(b, n, ops::cast(b, ops::mul(b, dy, slope), n.out(0).dtype));
  };
  if (kind == "gelu") return times(gelu_slope(b, x));
  if (kind == "gelu_tanh") return times(gelu_tanh_slope(b, x));
  if (kind == "silu") return times(silu_slope(b, x));
  ValueId zero = number(b, 0, x);
  ValueId dx = ops::select(b, ops::compare(b, x, zero, "gt"), dy, zero);
  return with_others(b, n, ops::cast(b, dx, n.out(0).dtype));
}

Cost cost_activation_grad(const NodeView& n) { return elementwise(n, 30); }

}  // namespace

Op define_activation_grad() {
  return {.name = "activation_grad",
          .operands = {"x", "dy"},
          .attrs = {required("kind", "", activation_kinds()), {"remade", false}, {"sums", false}},
          .infer = infer_activation_grad,
          .decompositions = {decompose_activation_grad},
          .cost = cost_activation_grad,
          .over = {{0, "dy"}, {1, "x"}},
          .optional_results = {"remade", "sums"}};
}

ValueId ops::activation_grad(Builder& b, ValueId x, ValueId dy, const std::string& kind) {
  return b.emit1("activation_grad", {x, dy}, {{"kind", kind}});
}

}  // namespace hone
