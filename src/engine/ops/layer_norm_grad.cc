// layer_norm_grad(x, gamma, mean, rstd, dy, dsum?): with xhat = (x - mean) rstd and g = dy gamma,
// dx = rstd (g - mean_C(g) - xhat mean_C(g xhat)) + dsum, dgamma = sum_T(dy xhat),
// dbeta = sum_T(dy). dsum: the gradient that reaches x by another way (the residual path).
// x, dy, dsum [T,C], gamma [C], mean, rstd [T] -> dx [T,C], dgamma [C], dbeta [C]
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_layer_norm_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& x = n.in(0);
  Type channel{x.dtype, {x.shape[1]}}, row{wide(x.dtype), {x.shape[0]}};
  HONE_TRY(expect_type(n, 1, channel));
  HONE_TRY(expect_type(n, 2, row));
  HONE_TRY(expect_type(n, 3, row));
  HONE_TRY(expect_same(n, 0, 4));
  if (n.has("dsum")) HONE_TRY(expect_same(n, 0, n.slot("dsum")));
  return Types{x, channel, channel};
}

Values decompose_layer_norm_grad(Builder& b, const NodeView& n) {
  Type x = n.in(0), w{wide(x.dtype), x.shape};
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
  if (n.has("dsum")) dx = ops::add(b, dx, n.input("dsum"));
  ValueId dgamma = ops::reduce_sum(b, ops::mul(b, dy, xhat), {0}),
          dbeta = ops::reduce_sum(b, dy, {0});
  return {dx, ops::cast(b, dgamma, x.dtype), ops::cast(b, dbeta, x.dtype)};
}

Cost cost_layer_norm_grad(const NodeView& n) { return elementwise(n, 14); }

}  // namespace

Op define_layer_norm_grad() {
  return {.name = "layer_norm_grad",
          .operands = {"x", "gamma", "mean", "rstd", "dy", "dsum?"},
          .infer = infer_layer_norm_grad,
          .decompositions = {decompose_layer_norm_grad},
          .cost = cost_layer_norm_grad,
          .over = {{0, "dy"}, {0, "dsum"}}};
}

}  // namespace hone
