// sgd(p..., g..., [buffer...,] lr, step, g_scale) -> p'..., [buffer'...]: PyTorch's SGD, with
// g * g_scale + decay p for g. Without momentum there are no buffers and p' = p - lr g; with it
//   buffer' = momentum buffer + (1 - dampening) g     (the first step: buffer' = g),
//   p' = p - lr buffer',   with nesterov p' = p - lr (g + momentum buffer').
// Operands as update_parts.h says; buffers of p's type.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

Result<Types> infer_sgd(const NodeView& n) {
  return infer_update(n, n.real("momentum") != 0 ? 1 : 0);
}

Values decompose_sgd(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  Values p, buffers;
  for (size_t i = 0; i < u.count(); ++i) {
    const ValueId change = u.with_momentum(i, u.gradient_l2(i), buffers);
    p.push_back(ops::sub(b, u.p(i), u.times(change, u.lr())));
  }
  return u.results({p, buffers});
}

Cost cost_sgd(const NodeView& n) { return update_cost(n, 8); }

}  // namespace

Op define_sgd() {
  return copied_update_op("sgd", {{"momentum", 0.0}, {"dampening", 0.0}, {"nesterov", false}},
                          infer_sgd, decompose_sgd, cost_sgd);
}

}  // namespace hone
