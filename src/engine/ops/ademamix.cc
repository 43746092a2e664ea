// ademamix(p..., g..., m..., slow..., v..., lr, step, g_scale) -> p'..., m'..., slow'..., v'...: AdEMAMix
// (Pagliardini et al., arXiv 2409.03137, algorithm 1), with g * g_scale for g and d the decay of a tensor:
//   m' = beta1 m + (1-beta1) g,  slow' = b slow + (1-b) g,  v' = beta2 v + (1-beta2) g^2,
//   p' = p (1 - lr d) - lr (m'/(1-beta1^step) + a slow') / (sqrt(v')/sqrt(1-beta2^step) + eps).
// a = alpha, and b = beta3; with t_alpha and t_beta3, the numbers of steps until then, they grow:
//   a = alpha min(1, step / t_alpha),  b = min(beta3, exp(x y / ((1-s) y + s x)))
//   where x = log(beta1), y = log(beta3), s = step / t_beta3.
// Operands as update_parts.h says; m, slow, v of p's type.
#include <cmath>

#include "engine/ops/update_parts.h"

namespace hone {
namespace {

const Type kNumber{DType::f64, {}};

Result<Types> infer_ademamix(const NodeView& n) {
  if (n.integer("t_alpha") < 0 || n.integer("t_beta3") < 0)
    return bad_operands(n, "t_alpha and t_beta3 are numbers of steps");
  return infer_update(n, 3);
}

// step / steps
ValueId share_of(UpdateParts& u, int64_t steps) {
  return u.scaled(u.step(), 1 / static_cast<double>(steps));
}

ValueId growing_alpha(Builder& b, UpdateParts& u, const NodeView& n) {
  const ValueId alpha = ops::constant(b, u.attr("alpha"), kNumber);
  const int64_t steps = n.integer("t_alpha");
  if (steps == 0) return alpha;
  return ops::minimum(b, u.scaled(share_of(u, steps), u.attr("alpha")), alpha);
}

ValueId growing_beta3(Builder& b, UpdateParts& u, const NodeView& n) {
  const ValueId beta3 = ops::constant(b, u.attr("beta3"), kNumber);
  const int64_t steps = n.integer("t_beta3");
  if (steps == 0) return beta3;
  const double x = std::log(u.attr("beta1")), y = std::log(u.attr("beta3"));
  const ValueId below = u.plus(u.scaled(share_of(u, steps), x - y), y);
  return ops::minimum(b, ops::exp(b, ops::div(b, ops::constant(b, x * y, kNumber), below)), beta3);
}

Values decompose_ademamix(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const double beta1 = u.attr("beta1"), beta2 = u.attr("beta2");
  const ValueId correction = u.one_minus_power(beta1),
                root = ops::sqrt(b, u.one_minus_power(beta2));
  const ValueId alpha = growing_alpha(b, u, n), beta3 = growing_beta3(b, u, n);
  const ValueId fresh = ops::sub(b, ops::constant(b, 1, kNumber), beta3);
  Values p, m, slow, v;
  for (size_t i = 0; i < u.count(); ++i) {
    const ValueId g = u.gradient(i);
    m.push_back(u.mix(u.state(0, i), beta1, g, 1 - beta1));
    slow.push_back(ops::add(b, u.times(u.state(1, i), beta3), u.times(g, fresh)));
    v.push_back(u.mix(u.state(2, i), beta2, ops::mul(b, g, g), 1 - beta2));
    const DType t = b.type(g).dtype;
    const ValueId above =
        ops::add(b, ops::div(b, m[i], ops::cast(b, correction, t)), u.times(slow[i], alpha));
    const ValueId below =
        u.plus(ops::div(b, ops::sqrt(b, v[i]), ops::cast(b, root, t)), u.attr("eps"));
    p.push_back(ops::sub(b, u.shrunk(i, u.p(i)), u.times(ops::div(b, above, below), u.lr())));
  }
  return u.results({p, m, slow, v});
}

Cost cost_ademamix(const NodeView& n) { return update_cost(n, 22); }

}  // namespace

Op define_ademamix() {
  return elementwise_update_op("ademamix",
                               {required("beta1", 0.0),
                                required("beta2", 0.0),
                                required("eps", 0.0),
                                {"beta3", 0.9999},
                                {"alpha", 5.0},
                                {"t_alpha", 0},
                                {"t_beta3", 0}},
                               infer_ademamix, decompose_ademamix, cost_ademamix);
}

}  // namespace hone
