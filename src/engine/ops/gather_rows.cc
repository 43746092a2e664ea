// gather_rows(x, ids): row i of the result is row ids[i] of x, zeros where ids[i] < 0.
// x [R, ...], ids i32[N] with ids < R -> [N, ...].
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_gather_rows(const NodeView& n) {
  if (n.in(0).rank() < 1) return bad_operands(n, "the table must have rows");
  if (n.in(1).rank() != 1 || n.in(1).dtype != DType::i32)
    return bad_operands(n, "the ids must be i32[N]");
  Type t = n.in(0);
  t.shape[0] = n.in(1).shape[0];
  return Types{t};
}

Values grad_gather_rows(Builder& b, const NodeView& n, const Values& d) {
  Type x = n.in(0);
  if (!is_float(x.dtype)) return {kNoValue, kNoValue};
  int64_t rows = b.type(d[0]).shape[0], columns = x.shape[0] == 0 ? 0 : x.count() / x.shape[0];
  ValueId flat = ops::reshape(b, d[0], {rows, columns});
  return {ops::reshape(b, ops::scatter_add_rows(b, n.input(1), flat, x.shape[0]), x.shape),
          kNoValue};
}

Cost cost_gather_rows(const NodeView& n) {
  return {0, 2.0 * static_cast<double>(n.out(0).bytes())};
}

}  // namespace

Op define_gather_rows() {
  return {.name = "gather_rows",
          .operands = {"x", "ids"},
          .infer = infer_gather_rows,
          .grad = grad_gather_rows,
          .cost = cost_gather_rows};
}

ValueId ops::gather_rows(Builder& b, ValueId x, ValueId ids) {
  return b.emit1("gather_rows", {x, ids});
}

}  // namespace hone
