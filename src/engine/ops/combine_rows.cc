// combine_rows(x, places, weights): y[t] = the sum over j of weights[t,j] x[places[t * k + j]], j = 0 to k-1.
// x [N,C], places i32[T * k] in 0..N-1, each once, weights [T,k] -> [T,C]. Rows of several groups (group_rows)
// come back to their tokens.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_combine_rows(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_float(n, 2));
  HONE_TRY(expect_rank(n, 2, 2));
  if (n.in(2).dtype != wide(n.in(0).dtype)) return bad_operands(n, "the weights' type");
  HONE_TRY(expect_type(n, 1, {DType::i32, {n.in(2).count()}}));
  if (n.in(0).shape[0] != n.in(2).count()) return bad_operands(n, "there is a row for each weight");
  return Types{{n.in(0).dtype, {n.in(2).shape[0], n.in(0).shape[1]}}};
}

Values decompose_combine_rows(Builder& b, const NodeView& n) {
  const Type x = n.in(0), w = n.in(2);
  const Shape all{w.shape[0], w.shape[1], x.shape[1]};
  ValueId rows = ops::gather_rows(b, widened(b, n.input(0)), n.input(1));
  rows = ops::mul(b, ops::reshape(b, rows, all), ops::broadcast(b, n.input(2), all, {0, 1}));
  return {ops::cast(b, ops::reduce_sum(b, rows, {1}), x.dtype)};
}

Values grad_combine_rows(Builder& b, const NodeView& n, const Values& d) {
  const Values v = b.emit("combine_rows_grad", {n.input(0), n.input(1), n.input(2), d[0]});
  return {v[0], kNoValue, v[1]};
}

}  // namespace

Op define_combine_rows() {
  return {.name = "combine_rows",
          .operands = {"x", "places", "weights"},
          .infer = infer_combine_rows,
          .decompositions = {decompose_combine_rows},
          .grad = grad_combine_rows,
          .cost = [](const NodeView& n) { return elementwise(n, 2); }};
}

ValueId ops::combine_rows(Builder& b, ValueId x, ValueId places, ValueId weights) {
  return b.emit1("combine_rows", {x, places, weights});
}

}  // namespace hone
