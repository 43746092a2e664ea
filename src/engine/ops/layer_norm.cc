// layer_norm(x, gamma, beta?): xhat = (x - mean) rstd, y = xhat gamma + beta, with mean and
// rstd = 1/sqrt(variance + eps) of each row (variance divides by C; Ba et al., arXiv 1607.06450).
// x [T,C], gamma, beta [C] -> y [T,C], mean [T], rstd [T] (f32 for half-precision x). Types as norm_parts.h says.
#include "engine/ops/norm_parts.h"

namespace hone {
namespace {

Result<Types> infer_layer_norm(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& x = n.in(0);
  HONE_TRY(expect_channels(n, 1, x));
  if (n.has(2)) HONE_TRY(expect_same(n, 1, 2));
  Type row{wide(x.dtype), {x.shape[0]}};
  return Types{{HONE_TRY(kept_type(n, x.dtype)), x.shape}, row, row};
}

Values decompose_layer_norm(Builder& b, const NodeView& n) {
  Type x = n.in(0), w{wide(x.dtype), x.shape};
  const DType as = n.out(0).dtype;
  if (is_mixed(n, {})) {
    const Values all = emit_wide(b, n, w.dtype);
    return {ops::cast(b, all[0], as), all[1], all[2]};
  }
  ValueId v = ops::cast(b, n.input(0), w.dtype),
          size = number(b, static_cast<double>(x.shape[1]), v);
  ValueId mean = ops::div(b, ops::reduce_sum(b, v, {1}), size);
  ValueId centred = ops::sub(b, v, along_rows(b, mean, w));
  ValueId variance = ops::div(b, ops::reduce_sum(b, ops::mul(b, centred, centred), {1}), size);
  ValueId rstd = ops::div(b, number(b, 1, v),
                          ops::sqrt(b, ops::add(b, variance, number(b, n.real("eps"), v))));
  ValueId y = ops::mul(b, centred, along_rows(b, rstd, w));
  y = ops::mul(b, y, along_columns(b, ops::cast(b, n.input(1), w.dtype), w));
  if (n.has(2)) y = ops::add(b, y, along_columns(b, ops::cast(b, n.input(2), w.dtype), w));
  return {ops::cast(b, y, x.dtype), mean, rstd};
}

Values grad_layer_norm(Builder& b, const NodeView& n, const Values& d) {
  HONE_BUG_IF(d[1] != kNoValue || d[2] != kNoValue,
              "layer_norm: mean and rstd are residuals without gradients");
  Values g = b.emit("layer_norm_grad", {n.input(0), n.input(1), n.output(1), n.output(2), d[0]});
  return {g[0], g[1], n.has(2) ? g[2] : kNoValue};
}

Cost cost_layer_norm(const NodeView& n) { return elementwise(n, 8); }

}  // namespace

Op define_layer_norm() {
  return {.name = "layer_norm",
          .operands = {"x", "gamma", "beta?"},
          .attrs = {required("eps", 0.0), kept_attr()},
          .infer = infer_layer_norm,
          .decompositions = {decompose_layer_norm},
          .grad = grad_layer_norm,
          .cost = cost_layer_norm,
          .over = {{0, "x"}}};
}

ops::Norm ops::layer_norm(Builder& b, ValueId x, ValueId gamma, ValueId beta, double eps) {
  Values v = b.emit("layer_norm", {x, gamma, beta}, {{"eps", eps}});
  return {v[0], v[1], v[2]};
}

}  // namespace hone
