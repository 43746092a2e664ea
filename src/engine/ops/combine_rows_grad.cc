// combine_rows_grad(x, places, weights, dy) -> dx, dweights: the gradients of combine_rows, with p =
// places[t * k + j]: dx[p] = weights[t,j] dy[t] and dweights[t,j] = the sum over c of x[p,c] dy[t,c].
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_combine_rows_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_rank(n, 2, 2));
  const Type &x = n.in(0), &w = n.in(2);
  if (w.dtype != wide(x.dtype)) return bad_operands(n, "the weights' type");
  HONE_TRY(expect_type(n, 1, {DType::i32, {w.count()}}));
  if (x.shape[0] != w.count()) return bad_operands(n, "there is a row for each weight");
  HONE_TRY(expect_type(n, 3, {x.dtype, {w.shape[0], x.shape[1]}}));
  return Types{x, w};
}

Values decompose_combine_rows_grad(Builder& b, const NodeView& n) {
  const Type x = n.in(0), w = n.in(2);
  const Shape all{w.shape[0], w.shape[1], x.shape[1]};
  const ValueId dy = ops::broadcast(b, widened(b, n.input(3)), all, {0, 2});
  const ValueId weights = ops::broadcast(b, n.input(2), all, {0, 1});
  const ValueId moved = ops::reshape(b, ops::mul(b, dy, weights), x.shape);
  const ValueId dx = ops::scatter_add_rows(b, n.input(1), moved, x.shape[0]);
  const ValueId rows =
      ops::reshape(b, ops::gather_rows(b, widened(b, n.input(0)), n.input(1)), all);
  return {ops::cast(b, dx, x.dtype), ops::reduce_sum(b, ops::mul(b, dy, rows), {2})};
}

}  // namespace

Op define_combine_rows_grad() {
  return {.name = "combine_rows_grad",
          .operands = {"x", "places", "weights", "dy"},
          .infer = infer_combine_rows_grad,
          .decompositions = {decompose_combine_rows_grad},
          .cost = [](const NodeView& n) { return elementwise(n, 3); }};
}

}  // namespace hone
