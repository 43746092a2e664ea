// embedding(table, ids, scales?): row t of the result is row ids[t] of the table. table [V,C], ids
// i32[T] in 0..V-1 -> [T,C]. Attribute dtype: of the result, to which the rows are rounded; a table
// of another type has no gradient. Neither has a table kept in fewer bits: bf16, or i8 with scales [V], where row v is scales[v] times that of the table and the
// result has the scales' type; or with attribute scheme u8 in blocks that hold their scales
// (block_schemes.h), as dequantize takes them. Attribute padding_row: that row of the table takes
// no gradient from here (PyTorch's padding_idx).
#include "engine/ops/block_schemes.h"
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_embedding(const NodeView& n) {
  const BlockScheme* scheme = block_scheme(n.text("scheme"));
  if (!n.has("scales") && scheme == nullptr) HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  if (n.in(1).rank() != 1 || n.in(1).dtype != DType::i32)
    return bad_operands(n, "the ids must be i32[T]");
  DType dtype = n.in(0).dtype;
  if (!n.text("dtype").empty()) dtype = HONE_TRY(dtype_named(n.text("dtype")));
  if (scheme != nullptr) {
    HONE_TRY(check_payload(n, *scheme, n.in(0)));
    if (n.has("scales")) return bad_operands(n, "the blocks hold their scales");
    if (dtype == DType::u8) dtype = DType::f32;
    return Types{{dtype, {n.in(1).shape[0], scheme->columns(n.in(0).shape[1])}}};
  }
  if (n.has("scales")) {
    if (dtype != DType::i8 || n.in("scales").shape != Shape{n.in("table").shape[0]})
      return bad_operands(n, "scales belong to a table in i8, one for each of its rows");
    dtype = n.in("scales").dtype;
  }
  return Types{{dtype, {n.in(1).shape[0], n.in(0).shape[1]}}};
}

Values decompose_embedding(Builder& b, const NodeView& n) {
  if (!n.text("scheme").empty()) {
    const ValueId table =
        ops::dequantize(b, {.scheme = n.text("scheme"), .payload = n.input(0)}, n.out(0).dtype);
    return {ops::gather_rows(b, table, n.input(1))};
  }
  const ValueId y = ops::cast(b, ops::gather_rows(b, n.input(0), n.input(1)), n.out(0).dtype);
  if (!n.has("scales")) return {y};
  const int64_t rows = n.in(0).shape[0], tokens = n.in(1).count();
  const ValueId scale =
      ops::gather_rows(b, ops::reshape(b, n.input("scales"), {rows, 1}), n.input(1));  // [T,1]
  return {
      ops::mul(b, y, ops::broadcast(b, ops::reshape(b, scale, {tokens}), b.type(y).shape, {0}))};
}

Values grad_embedding(Builder& b, const NodeView& n, const Values& d) {
  HONE_BUG_IF(n.in(0).dtype != n.out(0).dtype, "embedding of a table in {} has no gradient",
              name_of(n.in(0).dtype));
  ValueId ids = n.input(1);
  if (n.integer("padding_row") >= 0) {
    const ValueId row =
        ops::constant(b, static_cast<double>(n.integer("padding_row")), {DType::i32, {}});
    const ValueId skipped = ops::constant(b, -1, n.in(1));
    ids = ops::select(b, ops::compare(b, ids, row, "eq"), skipped, ids);
  }
  return {ops::scatter_add_rows(b, ids, d[0], n.in(0).shape[0]), kNoValue};
}

Cost cost_embedding(const NodeView& n) { return {0, 2.0 * static_cast<double>(n.out(0).bytes())}; }

}  // namespace

Op define_embedding() {
  return {.name = "embedding",
          .operands = {"table", "ids", "scales?"},
          .attrs = {{"dtype", ""}, {"padding_row", -1}, {"scheme", "", scheme_choices(true)}},
          .infer = infer_embedding,
          .decompositions = {decompose_embedding},
          .grad = grad_embedding,
          .cost = cost_embedding,
          .stored_weight = 0};
}

ValueId ops::embedding(Builder& b, ValueId table, ValueId ids) {
  return b.emit1("embedding", {table, ids});
}

}  // namespace hone
