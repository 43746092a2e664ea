// column_moments(x, rows?) = the mean and the biased variance of each column; with `rows` those of the first rows, the
// statistics of batch_norm. If there are none, as on a rank without rows, they are finite numbers without meaning.
// x [T,C], rows i32[] -> mean, variance [C], in f32 for x in 16 bits.
#include "engine/ops/image_ops.h"
#include "engine/ops/image_parts.h"

namespace hone {
namespace {

Result<Types> infer_column_moments(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  if (n.has("rows")) HONE_TRY(expect_type(n, n.slot("rows"), {DType::i32, {}}));
  const Type column{wide(n.in(0).dtype), {n.in(0).shape[1]}};
  return Types{column, column};
}

Values decompose_column_moments(Builder& b, const NodeView& n) {
  return counted_moments(b, widened(b, n.input("x")), n.input("rows"));
}

}  // namespace

Op define_column_moments() {
  return {.name = "column_moments",
          .operands = {"x", "rows?"},
          .infer = infer_column_moments,
          .decompositions = {decompose_column_moments},
          .cost = [](const NodeView& n) { return elementwise(n, 4); }};
}

std::pair<ValueId, ValueId> ops::column_moments(Builder& b, ValueId x, ValueId rows) {
  const Values v = b.emit("column_moments", {x, rows});
  return {v[0], v[1]};
}

}  // namespace hone
