// rms_norm(x, gamma): y = x rstd gamma, rstd = 1/sqrt(mean_C(x^2) + eps) of each row (Zhang and
// Sennrich, arXiv 1910.07467). x [T,C], gamma [C] -> y [T,C], rstd [T] (f32 for half-precision x). Types
// as norm_parts.h says.
#include "engine/ops/norm_parts.h"

namespace hone {
namespace {

Result<Types> infer_rms_norm(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& x = n.in(0);
  HONE_TRY(expect_channels(n, 1, x));
  return Types{{HONE_TRY(kept_type(n, x.dtype)), x.shape}, {wide(x.dtype), {x.shape[0]}}};
}

Values decompose_rms_norm(Builder& b, const NodeView& n) {
  Type x = n.in(0), w{wide(x.dtype), x.shape};
  const DType as = n.out(0).dtype;
  if (is_mixed(n, {})) {
    const Values all = emit_wide(b, n, w.dtype);
    return {ops::cast(b, all[0], as), all[1]};
  }
  ValueId v = ops::cast(b, n.input(0), w.dtype);
  ValueId mean = ops::div(b, ops::reduce_sum(b, ops::mul(b, v, v), {1}),
                          number(b, static_cast<double>(x.shape[1]), v));
  ValueId rstd =
      ops::div(b, number(b, 1, v), ops::sqrt(b, ops::add(b, mean, number(b, n.real("eps"), v))));
  ValueId xhat = ops::cast(b, ops::mul(b, v, along_rows(b, rstd, w)), x.dtype);
  return {ops::mul(b, xhat, along_columns(b, n.input(1), x)), rstd};
}

Values grad_rms_norm(Builder& b, const NodeView& n, const Values& d) {
  HONE_BUG_IF(d[1] != kNoValue, "rms_norm: rstd is a residual without a gradient");
  return b.emit("rms_norm_grad", {n.input(0), n.input(1), n.output(1), d[0]});
}

Cost cost_rms_norm(const NodeView& n) { return elementwise(n, 5); }

}  // namespace

Op define_rms_norm() {
  return {.name = "rms_norm",
          .operands = {"x", "gamma"},
          .attrs = {required("eps", 0.0), kept_attr()},
          .infer = infer_rms_norm,
          .decompositions = {decompose_rms_norm},
          .grad = grad_rms_norm,
          .cost = cost_rms_norm,
          .over = {{0, "x"}}};
}

ops::Norm ops::rms_norm(Builder& b, ValueId x, ValueId gamma, double eps) {
  Values v = b.emit("rms_norm", {x, gamma}, {{"eps", eps}});
  return {v[0], kNoValue, v[1]};
}

}  // namespace hone
