// scatter_add_rows(ids, dy, acc?): row r of the result is acc[r] + the sum of dy[i] over ids[i] =
// r. ids i32[T] with ids < rows, ids < 0 are skipped; dy [T,C]; attribute rows -> [rows,C].
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer(const NodeView& n) {
  HONE_TRY(expect_inputs(n, 2, 3));
  HONE_TRY(expect_float(n, 1));
  HONE_TRY(expect_rank(n, 1, 2));
  HONE_TRY(expect_type(n, 0, {DType::i32, {n.in(1).shape[0]}}));
  int64_t rows = n.attrs().integer("rows", -1);
  if (rows < 0) return bad_operands(n, "attribute rows is missing");
  Type t{n.in(1).dtype, {rows, n.in(1).shape[1]}};
  if (n.has(2)) HONE_TRY(expect_type(n, 2, t));
  return Types{t};
}

Values grad(Builder& b, const NodeView& n, const Values& d) {
  return {kNoValue, ops::gather_rows(b, d[0], n.input(0)), n.has(2) ? d[0] : kNoValue};
}

Cost cost(const NodeView& n) {
  Cost c = elementwise(n, 0);
  c.flops = static_cast<double>(n.in(1).count());
  return c;
}

}  // namespace

Op define_scatter_add_rows() {
  return {"scatter_add_rows", infer, nullptr, grad, cost, {}, nullptr, 2};
}

ValueId ops::scatter_add_rows(Builder& b, ValueId ids, ValueId dy, int64_t rows) {
  return b.emit1("scatter_add_rows", {ids, dy}, {{"rows", rows}});
}

}  // namespace hone
