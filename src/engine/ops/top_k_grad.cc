// top_k_grad(columns, dy) {columns}: the gradient of top_k's operand, by its second result and the gradient
// of the first. columns i32[T,k], dy [T,k] -> [T,C], zeros but for dy[t,j] in column columns[t,j].
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_top_k_grad(const NodeView& n) {
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_float(n, 1));
  HONE_TRY(expect_type(n, 0, {DType::i32, n.in(1).shape}));
  return Types{{n.in(1).dtype, {n.in(1).shape[0], n.integer("columns")}}};
}

Values decompose_top_k_grad(Builder& b, const NodeView& n) {
  const Type dy = n.in(1);
  const Shape all{dy.shape[0], dy.shape[1], n.integer("columns")};
  const ValueId columns = ops::broadcast(b, n.input(0), all, {0, 1});
  const ValueId here = ops::compare(b, columns, ops::iota(b, {DType::i32, all}, 2), "eq");
  const ValueId moved = ops::broadcast(b, widened(b, n.input(1)), all, {0, 1});
  const ValueId zeros = ops::constant(b, 0, Type(b.type(moved)));
  return {ops::cast(b, ops::reduce_sum(b, ops::select(b, here, moved, zeros), {1}), dy.dtype)};
}

}  // namespace

Op define_top_k_grad() {
  return {.name = "top_k_grad",
          .operands = {"columns", "dy"},
          .attrs = {required("columns", 0)},
          .infer = infer_top_k_grad,
          .decompositions = {decompose_top_k_grad},
          .cost = [](const NodeView& n) { return elementwise(n, 1); }};
}

}  // namespace hone
