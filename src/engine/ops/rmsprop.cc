// rmsprop(p..., g..., square..., [mean...,] [buffer...,] lr, step, g_scale) -> p'..., states'...:
// PyTorch's RMSprop, with g * g_scale + decay p for g:
//   square' = alpha square + (1-alpha) g^2;   centered: mean' = alpha mean + (1-alpha) g,
//   u = g / (sqrt(square' [- mean'^2]) + eps),
//   p' = p - lr u,   with momentum buffer' = momentum buffer + u and p' = p - lr buffer'.
// Operands as update_parts.h says; states of p's type; mean only with attribute centered, buffer
// only with momentum.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

Result<Types> infer_rmsprop(const NodeView& n) {
  return infer_update(n, 1 + (n.flag("centered") ? 1 : 0) + (n.real("momentum") != 0 ? 1 : 0));
}

Values decompose_rmsprop(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const double alpha = u.attr("alpha"), momentum = u.attr("momentum");
  const bool centered = n.flag("centered");
  Values p, squares, means, buffers;
  for (size_t i = 0; i < u.count(); ++i) {
    ValueId g = u.gradient_l2(i);
    squares.push_back(u.mix(u.state(0, i), alpha, ops::mul(b, g, g), 1 - alpha));
    ValueId spread = squares[i];
    if (centered) {
      means.push_back(u.mix(u.state(1, i), alpha, g, 1 - alpha));
      spread = ops::sub(b, spread, ops::mul(b, means[i], means[i]));
    }
    ValueId change = ops::div(b, g, u.plus(ops::sqrt(b, spread), u.attr("eps")));
    if (momentum != 0) {
      change = ops::add(b, u.scaled(u.state(centered ? 2 : 1, i), momentum), change);
      buffers.push_back(change);
    }
    p.push_back(ops::sub(b, u.p(i), u.times(change, u.lr())));
  }
  return u.results({p, squares, means, buffers});
}

Cost cost_rmsprop(const NodeView& n) { return update_cost(n, 12); }

}  // namespace

Op define_rmsprop() {
  return copied_update_op(
      "rmsprop",
      {required("alpha", 0.0), required("eps", 0.0), {"momentum", 0.0}, {"centered", false}},
      infer_rmsprop, decompose_rmsprop, cost_rmsprop);
}

}  // namespace hone
