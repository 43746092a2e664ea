// sum_rows(x, acc?) = acc + the sum of the rows of x.   x [T,N], acc [N] -> [N], in x's type or that
// of attribute `as`.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_sum_rows(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  Type t{HONE_TRY(kept_type(n, n.in(0).dtype)), {n.in(0).shape[1]}};
  if (n.has("acc")) HONE_TRY(expect_addend(n, n.slot("acc"), t, n.in(0).dtype));
  return Types{t};
}

Values decompose_sum_rows(Builder& b, const NodeView& n) {
  ValueId sum = ops::reduce_sum(b, widened(b, n.input(0)), {0});
  if (n.has("acc")) sum = ops::add(b, ops::cast(b, n.input("acc"), b.type(sum).dtype), sum);
  return {ops::cast(b, sum, n.out(0).dtype)};
}

Values grad_sum_rows(Builder& b, const NodeView& n, const Values& d) {
  return {along_columns(b, d[0], Type(n.in(0))), n.has("acc") ? d[0] : kNoValue};
}

Cost cost_sum_rows(const NodeView& n) {
  Cost c = elementwise(n, 0);
  c.flops = static_cast<double>(n.in(0).count());
  return c;
}

}  // namespace

Op define_sum_rows() {
  return {.name = "sum_rows",
          .operands = {"x", "acc?"},
          .attrs = {kept_attr()},
          .infer = infer_sum_rows,
          .decompositions = {decompose_sum_rows},
          .grad = grad_sum_rows,
          .cost = cost_sum_rows,
          .over = {{0, "acc", true}}};
}

ValueId ops::sum_rows(Builder& b, ValueId x) { return b.emit1("sum_rows", {x}); }

}  // namespace hone
