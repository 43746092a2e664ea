// batch_norm_sums(x, mean, variance, dy, rows?, y?) = dgamma and dbeta of batch_norm_grad, for the statistics of more
// rows than those of x. Types are those of batch_norm_grad; results are in f32 beside x in 16 bits.
#include "engine/ops/image_parts.h"
#include "engine/ops/norm_parts.h"

namespace hone {
namespace {

Result<Types> infer_batch_norm_sums(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& x = n.in(0);
  const Type column{wide(x.dtype), {x.shape[1]}}, dy = n.in("dy");
  for (const size_t i : {1, 2}) HONE_TRY(expect_type(n, i, column));
  HONE_TRY(expect_rows_like(n, n.slot("dy"), x));
  if (n.has("rows")) HONE_TRY(expect_type(n, n.slot("rows"), {DType::i32, {}}));
  if (n.has("y")) HONE_TRY(expect_type(n, n.slot("y"), dy));
  return Types{column, column};
}

Values decompose_batch_norm_sums(Builder& b, const NodeView& n) {
  const DType w = wide(n.in("x").dtype);
  if (n.in("x").dtype != w || n.in("dy").dtype != w) return emit_wide(b, n, w);
  const ValueId dy = counting_gradient(b, n.input("dy"), n.input("y"));
  const BatchNormSums sums = batch_norm_sums(b, n, dy);
  return {sums.dgamma, sums.dbeta};
}

}  // namespace

Op define_batch_norm_sums() {
  return {.name = "batch_norm_sums",
          .operands = {"x", "mean", "variance", "dy", "rows?", "y?"},
          .attrs = {required("eps", 0.0)},
          .infer = infer_batch_norm_sums,
          .decompositions = {decompose_batch_norm_sums},
          .cost = [](const NodeView& n) { return elementwise(n, 5); }};
}

}  // namespace hone
