// scatter_add_rows(ids, dy, acc?): row r of the result is acc[r] + the sum of dy[i] over ids[i] =
// r. ids i32[T] with ids < rows, ids < 0 are skipped; dy [T,C]; attribute rows -> [rows,C].
// acc may be in 16 bits beside dy in f32: each of its rows is summed in f32 and rounded once, and so is the result.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_scatter_add_rows(const NodeView& n) {
  HONE_TRY(expect_float(n, 1));
  HONE_TRY(expect_rank(n, 1, 2));
  HONE_TRY(expect_type(n, 0, {DType::i32, {n.in(1).shape[0]}}));
  int64_t rows = n.integer("rows");
  if (rows < 0) return bad_operands(n, "there are no negative numbers of rows");
  Type t{n.in(1).dtype, {rows, n.in(1).shape[1]}};
  const bool is_wide = t.dtype == DType::f32;
  if (n.has("acc") && is_wide && is_float(n.in("acc").dtype) && size_of(n.in("acc").dtype) == 2)
    t.dtype = n.in("acc").dtype;
  if (n.has("acc")) HONE_TRY(expect_type(n, n.slot("acc"), t));
  return Types{t};
}

Values grad_scatter_add_rows(Builder& b, const NodeView& n, const Values& d) {
  return {kNoValue, ops::gather_rows(b, d[0], n.input(0)), n.has("acc") ? d[0] : kNoValue};
}

Cost cost_scatter_add_rows(const NodeView& n) {
  Cost c = elementwise(n, 0);
  c.flops = static_cast<double>(n.in(1).count());
  return c;
}

}  // namespace

Op define_scatter_add_rows() {
  return {.name = "scatter_add_rows",
          .operands = {"ids", "dy", "acc?"},
          .attrs = {required("rows", 0)},
          .infer = infer_scatter_add_rows,
          .grad = grad_scatter_add_rows,
          .cost = cost_scatter_add_rows,
          .over = {{0, "acc", true}}};
}

ValueId ops::scatter_add_rows(Builder& b, ValueId ids, ValueId dy, int64_t rows) {
  return b.emit1("scatter_add_rows", {ids, dy}, {{"rows", rows}});
}

}  // namespace hone
