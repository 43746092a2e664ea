// grouped_outer(x, y, starts, acc?): result g is the sum over the rows r of group g, starts[g] to
// starts[g + 1] - 1, of the outer products of x[r] and y[r], + acc[g]. x [N,K], y [N,M], starts i32[G+1]
// from 0 to N, growing -> [G,K,M]: the gradient of grouped_matmul's weight. Attributes bf16, f16 and `as` as
// in matmul.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_grouped_outer(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  const DType own = HONE_TRY(product_type(n, 0, 1));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_rank(n, 1, 2));
  if (n.in(0).shape[0] != n.in(1).shape[0]) return bad_operands(n, "numbers of rows differ");
  if (n.in(2).dtype != DType::i32 || n.in(2).rank() != 1 || n.in(2).shape[0] < 1)
    return bad_operands(n, "the starts must be i32[groups + 1]");
  const Type t{HONE_TRY(kept_type(n, own)),
               {n.in(2).shape[0] - 1, n.in(0).shape[1], n.in(1).shape[1]}};
  if (n.has("acc")) HONE_TRY(expect_addend(n, n.slot("acc"), t, own));
  return Types{t};
}

Values grad_grouped_outer(Builder& b, const NodeView& n, const Values& d) {
  const DType by = rounded_to(n);
  const ValueId x = n.input(0), y = n.input(1), starts = n.input(2);
  return {ops::grouped_matmul(b, y, d[0], starts, true, by),
          ops::grouped_matmul(b, x, d[0], starts, false, by), kNoValue,
          n.has("acc") ? d[0] : kNoValue};
}

Cost cost_grouped_outer(const NodeView& n) {
  return product_cost(n, n.in(0).count(), n.in(1).shape[1]);
}

}  // namespace

Op define_grouped_outer() {
  return {.name = "grouped_outer",
          .operands = {"x", "y", "starts", "acc?"},
          .attrs = with_rounding({kept_attr()}),
          .infer = infer_grouped_outer,
          .grad = grad_grouped_outer,
          .cost = cost_grouped_outer,
          .over = {{0, "acc", true}},
          .product = true};
}

ValueId ops::grouped_outer(Builder& b, ValueId x, ValueId y, ValueId starts, DType rounded) {
  Attrs attrs;
  set_rounding(attrs, rounded);
  return b.emit1("grouped_outer", {x, y, starts}, attrs);
}

}  // namespace hone
