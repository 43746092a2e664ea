// lars(p..., g..., [buffer...,] lr, step, g_scale) -> p'..., [buffer'...]: LARS (You et al., arXiv 1708.03888) in the form
// of timm, with g * g_scale for g and d the decay of a tensor:
//   r = trust_coefficient |p| / (|g| + d |p| + eps) over the whole tensor, 1 where |p| or |g| is 0;
//   with trust_clip min(r / lr, 1),
// then SGD (sgd.cc) without decay by r (g + d p).
// Operands as update_parts.h says; buffers of p's type.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

Result<Types> infer_lars(const NodeView& n) {
  return infer_update(n, n.real("momentum") != 0 ? 1 : 0);
}

ValueId lars_trust(Builder& b, UpdateParts& u, const NodeView& n, size_t i, ValueId g) {
  const auto number = [&](double v) { return ops::constant(b, v, {DType::f64, {}}); };
  const ValueId weight = ops::sqrt(b, ops::sum_squares(b, u.p(i))),
                size = ops::sqrt(b, ops::sum_squares(b, g));
  const ValueId below = ops::add(b, ops::add(b, size, ops::mul(b, weight, number(u.decay(i)))),
                                 number(u.attr("eps")));
  const ValueId ratio =
      ops::div(b, ops::mul(b, weight, number(u.attr("trust_coefficient"))), below);
  const ValueId both = ops::minimum(b, ops::compare(b, weight, number(0), "gt"),
                                    ops::compare(b, size, number(0), "gt"));
  const ValueId trust = ops::select(b, both, ratio, number(1));
  if (!n.flag("trust_clip")) return trust;
  return ops::minimum(b, ops::div(b, trust, u.lr()), number(1));
}

Values decompose_lars(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  Values p, buffers;
  for (size_t i = 0; i < u.count(); ++i) {
    const ValueId trust = lars_trust(b, u, n, i, u.gradient(i));
    const ValueId change = u.with_momentum(i, u.times(u.gradient_l2(i), trust), buffers);
    p.push_back(ops::sub(b, u.p(i), u.times(change, u.lr())));
  }
  return u.results({p, buffers});
}

Cost cost_lars(const NodeView& n) { return update_cost(n, 14); }

}  // namespace

Op define_lars() {
  return update_op("lars",
                   {{"momentum", 0.0},
                    {"dampening", 0.0},
                    {"nesterov", false},
                    {"trust_clip", false},
                    required("trust_coefficient", 0.0),
                    required("eps", 0.0)},
                   infer_lars, decompose_lars, cost_lars);
}

}  // namespace hone
