// lamb(p..., g..., m..., v..., lr, step, g_scale) -> p'..., m'..., v'...: LAMB (You et al., arXiv
// 1904.00962, algorithm 2), with g * g_scale for g and d the decay of a tensor:
//   m' = beta1 m + (1-beta1) g,  v' = beta2 v + (1-beta2) g^2,
//   u = (m'/(1-beta1^step)) / (sqrt(v'/(1-beta2^step)) + eps) + d p,
//   p' = p - lr r u,   r = |p| / |u| over the whole tensor, 1 where either is 0; with trust_clip at most 1, as in timm.
// Operands as update_parts.h says; m, v of p's type.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

Result<Types> infer_lamb(const NodeView& n) { return infer_update(n, 2); }

Values decompose_lamb(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const double beta1 = u.attr("beta1"), beta2 = u.attr("beta2");
  ValueId correction = u.one_minus_power(beta1), root = ops::sqrt(b, u.one_minus_power(beta2));
  ValueId one = ops::constant(b, 1, {DType::f64, {}}), zero = ops::constant(b, 0, {DType::f64, {}});
  Values p, m, v;
  for (size_t i = 0; i < u.count(); ++i) {
    ValueId g = u.gradient(i);
    m.push_back(u.mix(u.state(0, i), beta1, g, 1 - beta1));
    v.push_back(u.mix(u.state(1, i), beta2, ops::mul(b, g, g), 1 - beta2));
    DType t = b.type(m[i]).dtype;
    ValueId above = ops::div(b, m[i], ops::cast(b, correction, t));
    ValueId below = u.plus(ops::div(b, ops::sqrt(b, v[i]), ops::cast(b, root, t)), u.attr("eps"));
    ValueId change = ops::div(b, above, below);
    if (u.decay(i) != 0) change = ops::add(b, change, u.scaled(u.p(i), u.decay(i)));
    ValueId weight = ops::sqrt(b, ops::sum_squares(b, u.p(i)));
    ValueId size = ops::sqrt(b, ops::sum_squares(b, change));
    ValueId both =
        ops::minimum(b, ops::compare(b, weight, zero, "gt"), ops::compare(b, size, zero, "gt"));
    ValueId trust = ops::select(b, both, ops::div(b, weight, size), one);
    if (n.flag("trust_clip")) trust = ops::minimum(b, trust, one);
    p.push_back(ops::sub(b, u.p(i), u.times(change, ops::mul(b, u.lr(), trust))));
  }
  return u.results({p, m, v});
}

Cost cost_lamb(const NodeView& n) { return update_cost(n, 22); }

}  // namespace

Op define_lamb() {
  return update_op(
      "lamb",
      {{"trust_clip", false}, required("beta1", 0.0), required("beta2", 0.0), required("eps", 0.0)},
      infer_lamb, decompose_lamb, cost_lamb);
}

}  // namespace hone
