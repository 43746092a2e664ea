// rms_norm_grad(x, gamma, rstd, dy, dsum?): with xhat = x rstd and g = dy gamma,
// dx = rstd (g - xhat mean_C(g xhat)) + dsum, dgamma = sum_T(dy xhat). dsum: the gradient that
// reaches x by another way (the residual path). With attribute `remade` also xhat gamma in dy's type, the norm itself, so
// that the forward pass need not keep it.
// x, dy, dsum [T,C], gamma [C], rstd [T] -> dx [T,C], dgamma [C] of gamma's type. Types as norm_parts.h says; dy and
// dsum may have other types than x.
#include "engine/ops/norm_parts.h"

namespace hone {
namespace {

Result<Types> infer_rms_norm_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& x = n.in(0);
  HONE_TRY(expect_channels(n, 1, x));
  HONE_TRY(expect_type(n, 2, {wide(x.dtype), {x.shape[0]}}));
  HONE_TRY(expect_rows_like(n, 3, x));
  if (n.has("dsum")) HONE_TRY(expect_rows_like(n, n.slot("dsum"), x));
  Types made{{HONE_TRY(kept_type(n, x.dtype)), x.shape}, n.in(1)};
  if (n.flag("remade")) made.push_back({n.in("dy").dtype, x.shape});
  return made;
}

Values decompose_rms_norm_grad(Builder& b, const NodeView& n) {
  Type x = n.in(0), w{wide(x.dtype), x.shape};
  const DType as = n.out(0).dtype, parameters = n.in(1).dtype;
  if (is_mixed(n, {n.slot("dy"), n.slot("dsum")})) {
    const Values all = emit_wide(b, n, w.dtype);
    Values made{ops::cast(b, all[0], as), ops::cast(b, all[1], parameters)};
    if (n.flag("remade")) made.push_back(ops::cast(b, all[2], n.in("dy").dtype));
    return made;
  }
  ValueId dy = ops::cast(b, n.input("dy"), w.dtype), rstd = along_rows(b, n.input("rstd"), w);
  ValueId xhat = ops::mul(b, ops::cast(b, n.input("x"), w.dtype), rstd);
  ValueId g = ops::mul(b, dy, along_columns(b, ops::cast(b, n.input("gamma"), w.dtype), w));
  ValueId mean = ops::div(b, ops::reduce_sum(b, ops::mul(b, g, xhat), {1}),
                          number(b, static_cast<double>(x.shape[1]), g));
  ValueId dx = ops::mul(b, rstd, ops::sub(b, g, ops::mul(b, xhat, along_rows(b, mean, w))));
  dx = ops::cast(b, dx, x.dtype);
  // Sums are written over their first operand, as dx is over dsum: a gradient's old version gives its place.
  if (n.has("dsum")) dx = ops::add(b, n.input("dsum"), dx);
  ValueId dgamma = ops::reduce_sum(b, ops::mul(b, dy, xhat), {0});
  Values made{dx, ops::cast(b, dgamma, x.dtype)};
  if (n.flag("remade"))
    made.push_back(ops::mul(b, ops::cast(b, xhat, x.dtype), along_columns(b, n.input("gamma"), x)));
  return made;
}

Cost cost_rms_norm_grad(const NodeView& n) { return elementwise(n, 10); }

}  // namespace

Op define_rms_norm_grad() {
  return {.name = "rms_norm_grad",
          .operands = {"x", "gamma", "rstd", "dy", "dsum?"},
          .attrs = {kept_attr(), {"remade", false}},
          .infer = infer_rms_norm_grad,
          .decompositions = {decompose_rms_norm_grad},
          .cost = cost_rms_norm_grad,
          .over = {{0, "dy"}, {0, "dsum"}},
          .optional_results = {"remade"}};
}

}  // namespace hone
