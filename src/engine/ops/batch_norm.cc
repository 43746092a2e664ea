// batch_norm(x, gamma, beta, rows?, residual?, mean?, variance?): y = (x - mean) / sqrt(variance + eps) gamma + beta +
// residual, with the mean and the biased variance of each column (arXiv 1502.03167); with `rows` those of the first
// rows, at least one; with `mean` and `variance` these, which are results too. With attribute relu negative y
// become 0. x, residual [T,C], gamma, beta, mean, variance [C], rows i32[] -> y [T,C], mean, variance [C]. Types are those of
// norm_parts.h: mean and variance are in f32 beside x in 16 bits, and a residual has the type of y.
#include "engine/ops/image_ops.h"
#include "engine/ops/image_parts.h"
#include "engine/ops/norm_parts.h"

namespace hone {
namespace {

Result<Types> infer_batch_norm(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& x = n.in(0);
  const Type column{wide(x.dtype), {x.shape[1]}}, y{HONE_TRY(kept_type(n, x.dtype)), x.shape};
  HONE_TRY(expect_channels(n, 1, x));
  HONE_TRY(expect_same(n, 1, 2));
  if (n.has("rows")) HONE_TRY(expect_type(n, n.slot("rows"), {DType::i32, {}}));
  if (n.has("residual")) HONE_TRY(expect_addend(n, n.slot("residual"), y, x.dtype));
  if (n.has("mean") != n.has("variance")) return bad_operands(n, "mean and variance come together");
  for (const char* given : {"mean", "variance"})
    if (n.has(given)) HONE_TRY(expect_type(n, n.slot(given), column));
  return Types{y, column, column};
}

Values decompose_batch_norm(Builder& b, const NodeView& n) {
  const Type x = n.in(0);
  if (wide(x.dtype) != x.dtype || is_mixed(n, {})) {
    const Values all = emit_wide(b, n, wide(x.dtype));
    return {ops::cast(b, all[0], n.out(0).dtype), all[1], all[2]};
  }
  const ValueId v = n.input(0), rows = n.input("rows"), residual = n.input("residual");
  const bool relu = n.flag("relu");
  const ValueId gamma = n.input("gamma"), beta = n.input("beta");
  const double eps = n.real("eps");
  const Values moments =
      n.has("mean") ? Values{n.input("mean"), n.input("variance")} : counted_moments(b, v, rows);
  const ValueId mean = moments[0], variance = moments[1],
                centred = ops::sub(b, v, along_columns(b, mean, x));
  const ValueId scale =
      ops::div(b, gamma, ops::sqrt(b, ops::add(b, variance, number(b, eps, variance))));
  ValueId y =
      ops::add(b, ops::mul(b, centred, along_columns(b, scale, x)), along_columns(b, beta, x));
  if (residual != kNoValue) y = ops::add(b, y, residual);
  return {relu ? ops::relu(b, y) : y, mean, variance};
}

Values grad_batch_norm(Builder& b, const NodeView& n, const Values& d) {
  HONE_BUG_IF(d[1] != kNoValue || d[2] != kNoValue || n.has("mean"),
              "batch_norm: mean and variance are residuals without gradients");
  const bool relu = n.flag("relu"), residual = n.has("residual");
  Attrs attrs{{"eps", n.real("eps")}};
  if (relu && residual) attrs.set("dresidual", true);
  const Values g = b.emit("batch_norm_grad",
                          {n.input("x"), n.input("gamma"), n.output(1), n.output(2), d[0],
                           n.input("rows"), relu ? n.output(0) : kNoValue},
                          attrs);
  return {g[0], g[1], g[2], kNoValue, !residual ? kNoValue : relu ? g[3] : d[0]};
}

}  // namespace

Op define_batch_norm() {
  return {.name = "batch_norm",
          .operands = {"x", "gamma", "beta", "rows?", "residual?", "mean?", "variance?"},
          .attrs = {required("eps", 0.0), {"relu", false}, kept_attr()},
          .infer = infer_batch_norm,
          .decompositions = {decompose_batch_norm},
          .grad = grad_batch_norm,
          .cost = [](const NodeView& n) { return elementwise(n, 8); },
          .over = {{0, "x"}, {0, "residual"}}};
}

ops::BatchNorm ops::batch_norm(Builder& b, ValueId x, ValueId gamma, ValueId beta,
                               const BatchNormOptions& o) {
  Attrs attrs{{"eps", o.eps}};
  if (o.relu) attrs.set("relu", true);
  const Values v = b.emit("batch_norm", {x, gamma, beta, o.rows, o.residual}, attrs);
  return {v[0], v[1], v[2]};
}

}  // namespace hone
