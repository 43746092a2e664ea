// grouped_matmul(x, w, starts): rows starts[g] to starts[g + 1] - 1 of the result are these rows of x times
// w[g]. x [N,K], w [G,K,M] ([G,M,K] with trans_w), starts i32[G+1] from 0 to N, growing -> [N,M]. Attributes
// bf16, f16 and `as` as in matmul. A weight in bf16 without them has no gradient.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_grouped_matmul(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_rank(n, 1, 3));
  const bool widens = rounded_to(n) == DType::f32 && n.in(1).dtype == DType::bf16;
  const DType own = widens ? n.in(0).dtype : HONE_TRY(product_type(n, 0, 1));
  const Shape &x = n.in(0).shape, &w = n.in(1).shape;
  const bool trans = n.flag("trans_w");
  if (x[1] != w[trans ? 2 : 1]) return bad_operands(n, "inner sizes differ");
  HONE_TRY(expect_type(n, 2, {DType::i32, {w[0] + 1}}));
  return Types{{HONE_TRY(kept_type(n, own)), {x[0], w[trans ? 1 : 2]}}};
}

Values grad_grouped_matmul(Builder& b, const NodeView& n, const Values& d) {
  const bool trans = n.flag("trans_w");
  const DType by = rounded_to(n);
  const ValueId x = n.input(0), w = n.input(1), starts = n.input(2);
  const bool frozen = by == DType::f32 && n.in(1).dtype != n.in(0).dtype;
  const ValueId dx = ops::grouped_matmul(b, d[0], w, starts, !trans, by);
  if (frozen) return {dx, kNoValue, kNoValue};
  const ValueId dw = trans ? ops::grouped_outer(b, d[0], x, starts, by)
                           : ops::grouped_outer(b, x, d[0], starts, by);
  return {dx, dw, kNoValue};
}

Cost cost_grouped_matmul(const NodeView& n) {
  return product_cost(n, n.out(0).count(), n.in(0).shape[1]);
}

}  // namespace

Op define_grouped_matmul() {
  return {.name = "grouped_matmul",
          .operands = {"x", "w", "starts"},
          .attrs = with_rounding({{"trans_w", false}, kept_attr()}),
          .infer = infer_grouped_matmul,
          .grad = grad_grouped_matmul,
          .cost = cost_grouped_matmul,
          .product = true,
          .stored_weight = Op::kWeightOperand};
}

ValueId ops::grouped_matmul(Builder& b, ValueId x, ValueId w, ValueId starts, bool trans_w,
                            DType rounded) {
  Attrs attrs;
  if (trans_w) attrs.set("trans_w", true);
  set_rounding(attrs, rounded);
  return b.emit1("grouped_matmul", {x, w, starts}, attrs);
}

}  // namespace hone
