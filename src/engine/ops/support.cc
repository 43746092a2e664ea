#include "engine/ops/support.h"

#include "base/core/text.h"

namespace hone {

Error bad_operands(const NodeView& n, const std::string& what) {
  std::vector<std::string> types;
  for (size_t i = 0; i < n.inputs(); ++i) types.push_back(n.has(i) ? n.in(i).text() : "_");
  std::string list = types.size() == 2 ? fmt::format("lhs {}, rhs {}", types[0], types[1])
                                       : fmt::format("inputs {}", join(types, ", "));
  return Error(err::kOperands, fmt::format("{}: {}: {}", n.node.op->name, what, list));
}

Status expect_rank(const NodeView& n, size_t i, int rank) {
  if (n.in(i).rank() != rank)
    return bad_operands(n, fmt::format("input {} must have {} dimensions", i, rank));
  return Ok{};
}

Status expect_same(const NodeView& n, size_t i, size_t j) {
  if (n.in(i) != n.in(j))
    return bad_operands(n, fmt::format("inputs {} and {} must have the same type", i, j));
  return Ok{};
}

Status expect_type(const NodeView& n, size_t i, const Type& t) {
  if (n.in(i) != t) return bad_operands(n, fmt::format("input {} must be {}", i, t.text()));
  return Ok{};
}

Status expect_float(const NodeView& n, size_t i) {
  if (!is_float(n.in(i).dtype))
    return bad_operands(n, fmt::format("input {} must be floating-point", i));
  return Ok{};
}

Status expect_axis(const NodeView& n, int64_t axis, int rank) {
  if (axis < 0 || axis >= rank)
    return bad_operands(n, fmt::format("axis {} is outside 0..{}", axis, rank - 1));
  return Ok{};
}

std::vector<std::string> activation_kinds(const std::string& first) {
  std::vector<std::string> kinds{"gelu", "gelu_tanh", "silu", "relu"};
  if (!first.empty()) kinds.insert(kinds.begin(), first);
  return kinds;
}

Result<Type> type_attrs(const NodeView& n) {
  Type t{HONE_TRY(dtype_named(n.text("dtype"))), n.integers("shape")};
  for (int64_t d : t.shape)
    if (d < 0)
      return bad_operands(n, fmt::format("the shape {} has a negative size", text_of(t.shape)));
  return t;
}

Result<Types> same_as_first(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  return Types{n.in(0)};
}

Result<Types> same_as_both(const NodeView& n) {
  const Type &x = n.in(0), &y = n.in(1);
  if (x.dtype != y.dtype) return bad_operands(n, "element types differ");
  if (x.shape != y.shape && x.rank() != 0 && y.rank() != 0) return bad_operands(n, "shapes differ");
  return Types{x.rank() == 0 ? y : x};
}

DType rounded_to(const NodeView& n) {
  return n.flag("bf16") ? DType::bf16 : n.flag("f16") ? DType::f16 : DType::f32;
}

std::vector<AttrSpec> with_rounding(std::vector<AttrSpec> attrs) {
  attrs.insert(attrs.end(), {AttrSpec{"bf16", false}, AttrSpec{"f16", false}});
  return attrs;
}

void set_rounding(Attrs& attrs, DType to) {
  if (to == DType::bf16) attrs.set("bf16", true);
  if (to == DType::f16) attrs.set("f16", true);
}

Result<DType> product_type(const NodeView& n, size_t x, size_t y) {
  if (n.flag("bf16") && n.flag("f16")) return bad_operands(n, "attributes bf16 and f16 at once");
  const DType narrow = rounded_to(n), of_x = n.in(x).dtype, of_y = n.in(y).dtype;
  if (narrow == DType::f32 && of_x == of_y) return of_x;
  const bool x_counts = narrow == DType::f32 || of_x != narrow,
             y_counts = narrow == DType::f32 || of_y != narrow;
  if (x_counts && y_counts && of_x != of_y) return bad_operands(n, "element types differ");
  return x_counts ? of_x : y_counts ? of_y : DType::f32;
}

AttrSpec kept_attr() { return {"as", "", {"f32", "bf16", "f16"}}; }

Result<DType> kept_type(const NodeView& n, DType otherwise) {
  return n.text("as").empty() ? otherwise : dtype_named(n.text("as"));
}

Status expect_addend(const NodeView& n, size_t i, const Type& result, DType operands) {
  return expect_type(n, i, operands == DType::f64 ? Type{operands, result.shape} : result);
}

ValueId widened(Builder& b, ValueId x) { return ops::cast(b, x, wide(b.type(x).dtype)); }

DType wide(DType t) { return t == DType::bf16 || t == DType::f16 ? DType::f32 : t; }

ValueId number(Builder& b, double value, ValueId like) {
  return ops::constant(b, value, {b.type(like).dtype, {}});
}
ValueId along_rows(Builder& b, ValueId v, const Type& like) {
  return ops::broadcast(b, v, like.shape, {0});
}
ValueId along_columns(Builder& b, ValueId v, const Type& like) {
  return ops::broadcast(b, v, like.shape, {1});
}

ValueId cap_scores(Builder& b, ValueId scores, double softcap, ValueId* tangent) {
  const ValueId t = ops::tanh(b, ops::div(b, scores, number(b, softcap, scores)));
  if (tangent != nullptr) *tangent = t;
  return ops::mul(b, t, number(b, softcap, t));
}

Values with_row_sums(Builder& b, const NodeView& n, Values made) {
  if (n.flag("sums")) made.push_back(ops::reduce_sum(b, widened(b, made[0]), {0}));
  return made;
}

ValueId fit(Builder& b, ValueId d, const Type& operand) {
  int rank = b.type(d).rank();
  if (operand.rank() != 0 || rank == 0) return d;
  std::vector<int64_t> axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return ops::reduce_sum(b, d, axes);
}

bool is_constant(const Builder& b, ValueId v, double value) {
  const Program& p = const_cast<Builder&>(b).program();
  int32_t node = p.values[static_cast<size_t>(v)].node;
  if (node < 0) return false;
  const Node& n = p.nodes[static_cast<size_t>(node)];
  return n.op->name == "constant" && n.attrs.real("value") == value;
}

std::vector<int64_t> kept_axes(const NodeView& n) {
  std::vector<int64_t> axes = n.integers("axes"), kept;
  for (int64_t a = 0; a < n.in(0).rank(); ++a)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) kept.push_back(a);
  return kept;
}

Result<Types> reduced(const NodeView& n) {
  std::vector<int64_t> axes = n.integers("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    HONE_TRY(expect_axis(n, axes[i], n.in(0).rank()));
    if (i > 0 && axes[i] <= axes[i - 1]) return bad_operands(n, "the axes must grow");
  }
  Type t{n.in(0).dtype, {}};
  for (int64_t a : kept_axes(n)) t.shape.push_back(n.in(0).shape[static_cast<size_t>(a)]);
  return Types{t};
}

}  // namespace hone
