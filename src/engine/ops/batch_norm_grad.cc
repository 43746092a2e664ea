// batch_norm_grad(x, gamma, mean, variance, dy, rows?, y?, dgamma?, dbeta?, count?): with xhat = (x - mean) rstd,
// rstd = 1 / sqrt(variance + eps) and n rows, dbeta = sum_T(dy), dgamma = sum_T(dy xhat),
// dx = gamma rstd (dy - dbeta / n - xhat dgamma / n). With `rows` the sums are over the first rows, and dx of the others
// is 0. With `y`, the result of a batch norm with relu, dy counts as 0 where y is 0; attribute dresidual adds this dy as
// a result, in the type of dy. `dgamma`, `dbeta` and `count` are those of all rows that mean and variance are of, if there are more
// (sync_batch_norms); they are results too. x, dy, y [T,C], gamma, mean, variance, dgamma, dbeta [C], rows i32[],
// count [] -> dx [T,C], dgamma, dbeta [C], dresidual? [T,C]. Types are those of norm_parts.h: dx has that of x, the results
// dgamma and dbeta that of gamma; dy and y may have another one than x; other columns are in f32 beside 16 bits.
#include "engine/ops/image_parts.h"
#include "engine/ops/norm_parts.h"

namespace hone {
namespace {

Result<Types> infer_batch_norm_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& x = n.in(0);
  const Type column{wide(x.dtype), {x.shape[1]}}, dy = n.in("dy");
  HONE_TRY(expect_channels(n, 1, x));
  for (const size_t i : {2, 3}) HONE_TRY(expect_type(n, i, column));
  HONE_TRY(expect_rows_like(n, n.slot("dy"), x));
  if (n.has("rows")) HONE_TRY(expect_type(n, n.slot("rows"), {DType::i32, {}}));
  if (n.has("y")) HONE_TRY(expect_type(n, n.slot("y"), dy));
  if (n.has("dgamma") != n.has("dbeta") || n.has("dgamma") != n.has("count"))
    return bad_operands(n, "dgamma, dbeta and count come together");
  if (n.has("dgamma")) {
    HONE_TRY(expect_type(n, n.slot("dgamma"), column));
    HONE_TRY(expect_type(n, n.slot("dbeta"), column));
    HONE_TRY(expect_type(n, n.slot("count"), {column.dtype, {}}));
  }
  Types made{x, n.in(1), n.in(1)};
  if (n.flag("dresidual")) made.push_back(dy);
  return made;
}

Values decompose_batch_norm_grad(Builder& b, const NodeView& n) {
  const Type x = n.in(0);
  if (wide(x.dtype) != x.dtype || is_mixed(n, {n.slot("dy")})) {
    const Values all = emit_wide(b, n, wide(x.dtype));
    Values made;
    for (size_t k = 0; k < all.size(); ++k) made.push_back(ops::cast(b, all[k], n.out(k).dtype));
    return made;
  }
  const ValueId v = n.input("x"), rows = n.input("rows"), variance = n.input("variance");
  const ValueId dresidual = counting_gradient(b, n.input("dy"), n.input("y"));
  const BatchNormSums own = batch_norm_sums(b, n, dresidual);
  const bool given = n.has("dgamma");
  const ValueId dgamma = given ? n.input("dgamma") : own.dgamma,
                dbeta = given ? n.input("dbeta") : own.dbeta;
  const ValueId count = given              ? n.input("count")
                        : rows == kNoValue ? number(b, static_cast<double>(x.shape[0]), v)
                                           : ops::cast(b, rows, x.dtype);
  const ValueId centre =
      ops::add(b, along_columns(b, ops::div(b, dbeta, count), x),
               ops::mul(b, own.xhat, along_columns(b, ops::div(b, dgamma, count), x)));
  const ValueId deviation = ops::sqrt(b, ops::add(b, variance, number(b, n.real("eps"), variance)));
  ValueId dx = ops::mul(b, ops::sub(b, own.counted, centre),
                        along_columns(b, ops::div(b, n.input("gamma"), deviation), x));
  if (const ValueId keep = counts_element(b, x, rows); keep != kNoValue)
    dx = ops::select(b, keep, dx, number(b, 0, dx));
  if (!n.flag("dresidual")) return {dx, dgamma, dbeta};
  return {dx, dgamma, dbeta, dresidual};
}

}  // namespace

Op define_batch_norm_grad() {
  return {.name = "batch_norm_grad",
          .operands = {"x", "gamma", "mean", "variance", "dy", "rows?", "y?", "dgamma?", "dbeta?",
                       "count?"},
          .attrs = {required("eps", 0.0), {"dresidual", false}},
          .infer = infer_batch_norm_grad,
          .decompositions = {decompose_batch_norm_grad},
          .cost = [](const NodeView& n) { return elementwise(n, 14); },
          .over = {{0, "dy"}},
          .optional_results = {"dresidual"}};
}

}  // namespace hone
