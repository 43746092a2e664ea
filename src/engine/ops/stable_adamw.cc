// stable_adamw(p..., g..., m..., v..., lr, step, g_scale) -> p'..., m'..., v'...: StableAdamW (Wortsman et al.,
// arXiv 2304.13013, algorithm 2) as the package torch-optimi runs it, with g * g_scale for g and d the decay
// of a tensor:
//   m' = m + a (g - m),  a = (1-beta1) / (1-beta1^step);  v' = v + b (g^2 - v),  b = (1-beta2) / (1-beta2^step),
//   e = lr / max(1, r),  r = sqrt(mean(g^2 / max(v', eps^2))) over the whole tensor,
//   p' = p (1 - e d) - e m' / (sqrt(v') + eps).
// Operands as update_parts.h says; m, v of p's type.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

Result<Types> infer_stable_adamw(const NodeView& n) { return infer_update(n, 2); }

Values decompose_stable_adamw(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const auto constant = [&](double x) { return ops::constant(b, x, {DType::f64, {}}); };
  const auto share = [&](double beta) {
    return ops::div(b, constant(1 - beta), u.one_minus_power(beta));
  };
  const ValueId fresh_m = share(u.attr("beta1")), fresh_v = share(u.attr("beta2"));
  const ValueId one = constant(1);
  const double eps = u.attr("eps");
  Values p, m, v;
  for (size_t i = 0; i < u.count(); ++i) {
    const ValueId g = u.gradient(i), old_m = u.state(0, i), old_v = u.state(1, i);
    m.push_back(ops::add(b, old_m, u.times(ops::sub(b, g, old_m), fresh_m)));
    v.push_back(ops::add(b, old_v, u.times(ops::sub(b, ops::mul(b, g, g), old_v), fresh_v)));
    const Type type = b.type(g);
    const ValueId least = ops::maximum(b, v[i], ops::constant(b, eps * eps, {type.dtype, {}}));
    const ValueId squares = ops::sum_squares(b, ops::div(b, g, ops::sqrt(b, least)));
    const auto elements = static_cast<double>(std::max<int64_t>(1, type.count()));
    const ValueId rms = ops::sqrt(b, u.scaled(squares, 1 / elements));
    const ValueId rate = ops::div(b, u.lr(), ops::maximum(b, one, rms));
    const ValueId change = ops::div(b, m[i], u.plus(ops::sqrt(b, v[i]), eps));
    const ValueId kept =
        u.decay(i) == 0 ? u.p(i) : u.times(u.p(i), ops::sub(b, one, u.scaled(rate, u.decay(i))));
    p.push_back(ops::sub(b, kept, u.times(change, rate)));
  }
  return u.results({p, m, v});
}

Cost cost_stable_adamw(const NodeView& n) { return update_cost(n, 22); }

}  // namespace

Op define_stable_adamw() {
  return update_op("stable_adamw",
                   {required("beta1", 0.0), required("beta2", 0.0), required("eps", 0.0)},
                   infer_stable_adamw, decompose_stable_adamw, cost_stable_adamw);
}

}  // namespace hone
