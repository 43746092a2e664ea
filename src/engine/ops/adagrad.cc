// adagrad(p..., g..., sum..., lr, step, g_scale) -> p'..., sum'...: PyTorch's Adagrad (Duchi et
// al., JMLR 12, 2011), with g * g_scale + decay p for g:
//   sum' = sum + g^2,   p' = p - lr / (1 + (step-1) lr_decay) g / (sqrt(sum') + eps).
// Operands as update_parts.h says; sum of p's type.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

Result<Types> infer_adagrad(const NodeView& n) { return infer_update(n, 1); }

Values decompose_adagrad(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const double lr_decay = u.attr("lr_decay");
  ValueId rate = ops::div(b, u.lr(), u.plus(u.scaled(u.step(), lr_decay), 1 - lr_decay));
  Values p, sums;
  for (size_t i = 0; i < u.count(); ++i) {
    ValueId g = u.gradient_l2(i);
    sums.push_back(ops::add(b, u.state(0, i), ops::mul(b, g, g)));
    ValueId below = u.plus(ops::sqrt(b, sums[i]), u.attr("eps"));
    p.push_back(ops::sub(b, u.p(i), u.times(ops::div(b, g, below), rate)));
  }
  return u.results({p, sums});
}

Cost cost_adagrad(const NodeView& n) { return update_cost(n, 9); }

}  // namespace

Op define_adagrad() {
  return copied_update_op("adagrad", {{"lr_decay", 0.0}, required("eps", 0.0)}, infer_adagrad,
                          decompose_adagrad, cost_adagrad);
}

}  // namespace hone
