// row_norms(w, a, b) = the lengths of the rows of w + scale b a.   w [N,K], or [K,N] with in_out,
// whose columns these rows are; a [R,K], b [N,R] -> [N] A constant to the gradient, as DoRA takes
// it (arXiv 2402.09353, section 4.3).
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_row_norms(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  for (size_t i = 0; i < 3; ++i) HONE_TRY(expect_rank(n, i, 2));
  const Type &w = n.in("w"), &a = n.in("a"), &b = n.in("b");
  const Shape sum{b.shape[0], a.shape[1]};
  const Shape turned{sum[1], sum[0]};
  if (b.shape[1] != a.shape[0] || w.shape != (n.flag("in_out") ? turned : sum))
    return bad_operands(n, "w does not have the shape of b a");
  if (a.dtype != w.dtype || b.dtype != w.dtype) return bad_operands(n, "element types differ");
  return Types{{w.dtype, {sum[0]}}};
}

Values decompose_row_norms(Builder& b, const NodeView& n) {
  const bool in_out = n.flag("in_out");
  const ValueId product = in_out ? ops::matmul(b, n.input("a"), n.input("b"), true, true)
                                 : ops::matmul(b, n.input("b"), n.input("a"));
  const ValueId sum =
      ops::add(b, n.input("w"), ops::mul(b, product, number(b, n.real("scale"), product)));
  return {ops::sqrt(b, ops::reduce_sum(b, ops::mul(b, sum, sum), {in_out ? 0 : 1}))};
}

Values grad_row_norms(Builder&, const NodeView& n, const Values&) {
  return Values(n.inputs(), kNoValue);
}

Cost cost_row_norms(const NodeView& n) {
  return product_cost(n, n.in("w").count(), n.in("a").shape[0] + 2);
}

}  // namespace

Op define_row_norms() {
  return {.name = "row_norms",
          .operands = {"w", "a", "b"},
          .attrs = {required("scale", 1.0), {"in_out", false}},
          .infer = infer_row_norms,
          .decompositions = {decompose_row_norms},
          .grad = grad_row_norms,
          .cost = cost_row_norms};
}

}  // namespace hone
