// embedding(table, ids): row t of the result is row ids[t] of the table.
// table [V,C], ids i32[T] in 0..V-1 -> [T,C]
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer(const NodeView& n) {
  HONE_TRY(expect_inputs(n, 2, 2));
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  if (n.in(1).rank() != 1 || n.in(1).dtype != DType::i32)
    return bad_operands(n, "the ids must be i32[T]");
  return Types{{n.in(0).dtype, {n.in(1).shape[0], n.in(0).shape[1]}}};
}

Values decompose(Builder& b, const NodeView& n) {
  return {ops::gather_rows(b, n.input(0), n.input(1))};
}

Values grad(Builder& b, const NodeView& n, const Values& d) {
  return {ops::scatter_add_rows(b, n.input(1), d[0], n.in(0).shape[0]), kNoValue};
}

Cost cost(const NodeView& n) { return {0, 2.0 * static_cast<double>(n.out(0).bytes())}; }

}  // namespace

Op define_embedding() { return {"embedding", infer, decompose, grad, cost}; }

ValueId ops::embedding(Builder& b, ValueId table, ValueId ids) {
  return b.emit1("embedding", {table, ids});
}

}  // namespace hone
