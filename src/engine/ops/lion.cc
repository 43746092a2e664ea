// lion(p..., g..., m..., lr, step, g_scale) -> p'..., m'...: Lion (Chen et al., arXiv 2302.06675,
// algorithm 2), with g * g_scale for g and d the decay of a tensor:
//   p' = p (1 - lr d) - lr sign(beta1 m + (1-beta1) g),   m' = beta2 m + (1-beta2) g;  sign(0) = 0.
// Operands as update_parts.h says; m of p's type.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

Result<Types> infer_lion(const NodeView& n) { return infer_update(n, 1); }

Values decompose_lion(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const double beta1 = u.attr("beta1"), beta2 = u.attr("beta2");
  Values p, m;
  for (size_t i = 0; i < u.count(); ++i) {
    ValueId g = u.gradient(i), c = u.mix(u.state(0, i), beta1, g, 1 - beta1);
    p.push_back(ops::sub(b, u.shrunk(i, u.p(i)), u.times(u.sign(c), u.lr())));
    m.push_back(u.mix(u.state(0, i), beta2, g, 1 - beta2));
  }
  return u.results({p, m});
}

Cost cost_lion(const NodeView& n) { return update_cost(n, 11); }

}  // namespace

Op define_lion() {
  return copied_update_op("lion", {required("beta1", 0.0), required("beta2", 0.0)}, infer_lion,
                          decompose_lion, cost_lion);
}

}  // namespace hone
