// batch_norm_grad(x, gamma, mean, variance, dy, rows?, y?): with rstd = 1 / sqrt(variance + eps), xhat = (x - mean) rstd
// and n rows, dbeta = sum_T(dy), dgamma = sum_T(dy xhat), dx = gamma rstd (dy - dbeta / n - xhat dgamma / n). With
// `rows` the sums are over the first rows, and dx of the others is 0. With `y`, the result of a batch norm with relu, dy
// counts as 0 where y is 0; attribute dresidual adds this dy as a result.
// x, dy, y [T,C], gamma, mean, variance [C], rows i32[] -> dx [T,C], dgamma, dbeta [C], dresidual? [T,C].
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_batch_norm_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& x = n.in(0);
  const Type column{x.dtype, {x.shape[1]}};
  for (const size_t i : {1, 2, 3}) HONE_TRY(expect_type(n, i, column));
  HONE_TRY(expect_type(n, n.slot("dy"), x));
  if (n.has("rows")) HONE_TRY(expect_type(n, n.slot("rows"), {DType::i32, {}}));
  if (n.has("y")) HONE_TRY(expect_type(n, n.slot("y"), x));
  return n.flag("dresidual") ? Types{x, column, column, x} : Types{x, column, column};
}

Values decompose_batch_norm_grad(Builder& b, const NodeView& n) {
  const Type x = n.in(0);
  const ValueId v = n.input("x"), rows = n.input("rows"), mean = n.input("mean"),
                variance = n.input("variance"), gamma = n.input("gamma");
  const double eps = n.real("eps");
  const ValueId y = n.input("y");
  const bool adds_dresidual = n.flag("dresidual");
  ValueId dy = n.input("dy"), keep = kNoValue,
          count = number(b, static_cast<double>(x.shape[0]), v);
  if (y != kNoValue)
    dy = ops::select(b, ops::compare(b, y, number(b, 0, y), "gt"), dy, number(b, 0, dy));
  const ValueId dresidual = dy;
  if (rows != kNoValue) {
    keep = ops::compare(b, ops::iota(b, {DType::i32, x.shape}, 0), rows, "lt");
    dy = ops::select(b, keep, dy, number(b, 0, dy));
    count = ops::cast(b, rows, x.dtype);
  }
  const ValueId deviation = ops::sqrt(b, ops::add(b, variance, number(b, eps, variance)));
  const ValueId xhat =
      ops::div(b, ops::sub(b, v, along_columns(b, mean, x)), along_columns(b, deviation, x));
  const ValueId dbeta = ops::reduce_sum(b, dy, {0}),
                dgamma = ops::reduce_sum(b, ops::mul(b, dy, xhat), {0});
  const ValueId centre =
      ops::add(b, along_columns(b, ops::div(b, dbeta, count), x),
               ops::mul(b, xhat, along_columns(b, ops::div(b, dgamma, count), x)));
  ValueId dx =
      ops::mul(b, ops::sub(b, dy, centre), along_columns(b, ops::div(b, gamma, deviation), x));
  if (keep != kNoValue) dx = ops::select(b, keep, dx, number(b, 0, dx));
  if (!adds_dresidual) return {dx, dgamma, dbeta};
  return {dx, dgamma, dbeta, dresidual};
}

}  // namespace

Op define_batch_norm_grad() {
  return {.name = "batch_norm_grad",
          .operands = {"x", "gamma", "mean", "variance", "dy", "rows?", "y?"},
          .attrs = {required("eps", 0.0), {"dresidual", false}},
          .infer = infer_batch_norm_grad,
          .decompositions = {decompose_batch_norm_grad},
          .cost = [](const NodeView& n) { return elementwise(n, 14); },
          .over = {{0, "dy"}},
          .optional_results = {"dresidual"}};
}

}  // namespace hone
