// adamw(p..., g..., m..., v..., lr, step, g_scale) -> p'..., m'..., v'...: PyTorch's AdamW
// (Loshchilov and Hutter, arXiv 1711.05101), with g * g_scale for g and d the decay of a tensor:
//   m' = beta1 m + (1-beta1) g,  v' = beta2 v + (1-beta2) g^2,
//   p' = p (1 - lr d) - lr/(1-beta1^step) m' / (sqrt(v')/sqrt(1-beta2^step) + eps).
// With attribute l2 PyTorch's Adam (Kingma and Ba, arXiv 1412.6980): g + d p for g, and p itself is
// not decayed. With attribute huggingface the AdamW that Transformers had until version 4: eps is
// added to sqrt(v'), and p' as it is without d is multiplied by (1 - lr d) at last. Operands and
// decay as update_parts.h says; m, v of p's type.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

Result<Types> infer_adamw(const NodeView& n) { return infer_update(n, 2); }

Values decompose_adamw(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const double beta1 = u.attr("beta1"), beta2 = u.attr("beta2");
  const bool l2 = n.flag("l2"), huggingface = n.flag("huggingface");
  ValueId step_size = ops::div(b, u.lr(), u.one_minus_power(beta1));
  ValueId root = ops::sqrt(b, u.one_minus_power(beta2));
  Values p, m, v;
  for (size_t i = 0; i < u.count(); ++i) {
    ValueId g = l2 ? u.gradient_l2(i) : u.gradient(i);
    m.push_back(u.mix(u.state(0, i), beta1, g, 1 - beta1));
    v.push_back(u.mix(u.state(1, i), beta2, ops::mul(b, g, g), 1 - beta2));
    if (huggingface) {
      ValueId below = u.plus(ops::sqrt(b, v[i]), u.attr("eps"));
      ValueId change = u.times(ops::div(b, m[i], below), ops::mul(b, step_size, root));
      p.push_back(u.shrunk(i, ops::sub(b, u.p(i), change)));
      continue;
    }
    ValueId change = u.adam_change(m[i], v[i], step_size, root);
    p.push_back(ops::sub(b, l2 ? u.p(i) : u.shrunk(i, u.p(i)), change));
  }
  return u.results({p, m, v});
}

Cost cost_adamw(const NodeView& n) { return update_cost(n, 16); }

}  // namespace

Op define_adamw() {
  return copied_update_op("adamw",
                          {required("beta1", 0.0),
                           required("beta2", 0.0),
                           required("eps", 0.0),
                           {"l2", false},
                           {"huggingface", false}},
                          infer_adamw, decompose_adamw, cost_adamw);
}

}  // namespace hone
