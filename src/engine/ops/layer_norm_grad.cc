// layer_norm_grad(x, gamma, mean, rstd, dy, dsum?, beta?): with xhat = (x - mean) rstd and g = dy gamma,
// dx = rstd (g - mean_C(g) - xhat mean_C(g xhat)) + dsum, dgamma = sum_T(dy xhat),
// dbeta = sum_T(dy). dsum: the gradient that reaches x by another way (the residual path). With
// attribute `remade` also xhat gamma + beta in dy's type, the norm itself, so that the forward pass need not keep it. With
// attribute `sums` also the sums of the rows of dx as it is kept, f32[C]: the gradient of a bias that was added to x.
// x, dy, dsum [T,C], gamma [C], mean, rstd [T] -> dx [T,C], dgamma [C], dbeta [C] of gamma's type. Types as
// norm_parts.h says; dy and dsum may have other types than x.
#include "engine/ops/norm_parts.h"

namespace hone {
namespace {

Result<Types> infer_layer_norm_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& x = n.in(0);
  const Type row{wide(x.dtype), {x.shape[0]}};
  HONE_TRY(expect_channels(n, 1, x));
  HONE_TRY(expect_type(n, 2, row));
  HONE_TRY(expect_type(n, 3, row));
  HONE_TRY(expect_rows_like(n, 4, x));
  if (n.has("dsum")) HONE_TRY(expect_rows_like(n, n.slot("dsum"), x));
  Types made{{HONE_TRY(kept_type(n, x.dtype)), x.shape}, n.in(1), n.in(1)};
  if (n.flag("remade")) made.push_back({n.in("dy").dtype, x.shape});
  if (n.has("beta")) HONE_TRY(expect_same(n, 1, n.slot("beta")));
  if (n.flag("sums")) made.push_back({wide(x.dtype), {x.shape[1]}});
  return made;
}

Values decompose_layer_norm_grad(Builder& b, const NodeView& n) {
  Type x = n.in(0), w{wide(x.dtype), x.shape};
  const DType as = n.out(0).dtype, parameters = n.in(1).dtype;
  if (is_mixed(n, {n.slot("dy"), n.slot("dsum")})) {
    const Values all = emit_wide(b, n, w.dtype);
    Values made{ops::cast(b, all[0], as), ops::cast(b, all[1], parameters),
                ops::cast(b, all[2], parameters)};
    if (n.flag("remade")) made.push_back(ops::cast(b, all[3], n.in("dy").dtype));
    return with_row_sums(b, n, std::move(made));
  }
  ValueId v = ops::cast(b, n.input("x"), w.dtype), dy = ops::cast(b, n.input("dy"), w.dtype);
  ValueId size = number(b, static_cast<double>(x.shape[1]), v),
          rstd = along_rows(b, n.input("rstd"), w);
  ValueId xhat = ops::mul(b, ops::sub(b, v, along_rows(b, n.input("mean"), w)), rstd);
  ValueId g = ops::mul(b, dy, along_columns(b, ops::cast(b, n.input("gamma"), w.dtype), w));
  auto mean = [&](ValueId t) {
    return along_rows(b, ops::div(b, ops::reduce_sum(b, t, {1}), size), w);
  };
  ValueId mean_g = mean(g), mean_gx = mean(ops::mul(b, g, xhat));
  ValueId dx = ops::mul(b, rstd, ops::sub(b, ops::sub(b, g, mean_g), ops::mul(b, xhat, mean_gx)));
  dx = ops::cast(b, dx, x.dtype);
  // Sums are written over their first operand, as dx is over dsum: a gradient's old version gives its place.
  if (n.has("dsum")) dx = ops::add(b, n.input("dsum"), dx);
  ValueId dgamma = ops::reduce_sum(b, ops::mul(b, dy, xhat), {0}),
          dbeta = ops::reduce_sum(b, dy, {0});
  Values made{dx, ops::cast(b, dgamma, x.dtype), ops::cast(b, dbeta, x.dtype)};
  if (n.flag("remade")) {
    ValueId y = ops::mul(b, xhat, along_columns(b, ops::cast(b, n.input("gamma"), w.dtype), w));
    if (n.has("beta"))
      y = ops::add(b, y, along_columns(b, ops::cast(b, n.input("beta"), w.dtype), w));
    made.push_back(ops::cast(b, y, n.in("dy").dtype));
  }
  return with_row_sums(b, n, std::move(made));
}

Cost cost_layer_norm_grad(const NodeView& n) { return elementwise(n, 14); }

}  // namespace

Op define_layer_norm_grad() {
  return {.name = "layer_norm_grad",
          .operands = {"x", "gamma", "mean", "rstd", "dy", "dsum?", "beta?"},
          .attrs = {kept_attr(), {"remade", false}, {"sums", false}},
          .infer = infer_layer_norm_grad,
          .decompositions = {decompose_layer_norm_grad},
          .cost = cost_layer_norm_grad,
          .over = {{0, "dy"}, {0, "dsum"}},
          .optional_results = {"remade", "sums"}};
}

}  // namespace hone
