// clip_scale(squares, loss_scale?, loss?) -> norm, scale: what gradients are multiplied with, given the
// sums of their squares.
//   norm = sqrt(sum squares) / loss_scale
//   scale = min(1, max_norm / (norm + 1e-6)) / loss_scale   (torch.nn.utils.clip_grad_norm_)
// max_norm 0: there is no limit. scale is NaN unless the norm and the loss are finite, so that other gradients change
// nothing. squares f64[n], loss_scale f64[], loss [] -> f64[], f64[]
#include "engine/ops/support.h"

namespace hone {
namespace {

const Type kOne{DType::f64, {}};

Result<Types> infer_clip_scale(const NodeView& n) {
  HONE_TRY(expect_rank(n, 0, 1));
  HONE_TRY(expect_type(n, 0, {DType::f64, n.in(0).shape}));
  if (n.has("loss_scale")) HONE_TRY(expect_type(n, n.slot("loss_scale"), kOne));
  if (n.has("loss")) {
    HONE_TRY(expect_float(n, n.slot("loss")));
    HONE_TRY(expect_rank(n, n.slot("loss"), 0));
  }
  return Types{kOne, kOne};
}

Values decompose_clip_scale(Builder& b, const NodeView& n) {
  const ValueId loss_scale = n.input("loss_scale"), loss = n.input("loss");
  const double max_norm = n.real("max_norm");
  const auto scalar = [&](double x) { return ops::constant(b, x, kOne); };
  const auto if_finite = [&](ValueId scale, ValueId what) {
    return ops::add(b, scale, ops::sub(b, what, what));
  };
  ValueId norm = ops::sqrt(b, ops::reduce_sum(b, n.input("squares"), {0}));
  if (loss_scale != kNoValue) norm = ops::div(b, norm, loss_scale);
  ValueId scale = scalar(1);
  if (max_norm > 0)
    scale = ops::minimum(b, scale, ops::div(b, scalar(max_norm), ops::add(b, norm, scalar(1e-6))));
  if (loss_scale != kNoValue) scale = ops::div(b, scale, loss_scale);
  scale = if_finite(scale, norm);
  if (loss != kNoValue) scale = if_finite(scale, ops::cast(b, loss, DType::f64));
  return {norm, scale};
}

}  // namespace

Op define_clip_scale() {
  return {.name = "clip_scale",
          .operands = {"squares", "loss_scale?", "loss?"},
          .attrs = {{"max_norm", 0.0}},
          .infer = infer_clip_scale,
          .decompositions = {decompose_clip_scale}};
}

ops::Clip ops::clip_scale(Builder& b, ValueId squares, ValueId loss_scale, ValueId loss,
                          double max_norm) {
  Attrs attrs;
  if (max_norm > 0) attrs.set("max_norm", max_norm);
  const Values v = b.emit("clip_scale", {squares, loss_scale, loss}, attrs);
  return {v[0], v[1]};
}

}  // namespace hone
