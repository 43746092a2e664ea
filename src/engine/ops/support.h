// Helpers of the shelf: checks for infer rules, small builders; cost.h has the costs.
//
// In decompose and grad the references that NodeView::in returns die with the first value that is
// emitted, so those functions copy types before they build.
#pragma once

#include "engine/graph/builder.h"
#include "engine/ops/cost.h"
#include "engine/ops/errors.h"
#include "engine/ops/ops.h"

namespace hone {

struct BlockScheme;

// "linear: <what>: inputs f32[2,3], ..." with the types of all operands.
Error bad_operands(const NodeView& n, const std::string& what);
Status expect_rank(const NodeView& n, size_t i, int rank);
Status expect_same(const NodeView& n, size_t i, size_t j);       // equal dtype and shape
Status expect_type(const NodeView& n, size_t i, const Type& t);  // exactly this type
Status expect_float(const NodeView& n, size_t i);
Status expect_axis(const NodeView& n, int64_t axis, int rank);  // 0 <= axis < rank
// The elementwise functions that linear, gate and their gradients know by name, after `first`.
std::vector<std::string> activation_kinds(const std::string& first = "");
// The values of an optional attribute scheme. scales_inside: only schemes whose blocks hold their
// own scales.
std::vector<std::string> scheme_choices(bool scales_inside);
// The payload of that scheme is u8 and has rows of whole blocks.
Status check_payload(const NodeView& n, const BlockScheme& scheme, const Type& payload);
// The operands scales, nested_scales and offset are those of a matrix of this shape and scheme.
Status check_block_scales(const NodeView& n, const BlockScheme& scheme, const Shape& shape);
Result<Type> type_attrs(const NodeView& n);  // attributes dtype and shape

Result<Types> same_as_first(const NodeView& n);  // one float operand -> its type
Result<Types> same_as_both(const NodeView& n);   // two operands; a scalar one is broadcast
// A product's operands may be rounded first, by attribute bf16 or f16: to that type, else f32.
// Operands of that type count as f32, and so does what is made of them.
DType rounded_to(const NodeView& n);
std::vector<AttrSpec> with_rounding(std::vector<AttrSpec> attrs);  // and those two
void set_rounding(Attrs& attrs, DType to);
// The element type that the product computes in, given its first operands `x` and `y`. Errors: they
// are of two types, or both attributes are set.
Result<DType> product_type(const NodeView& n, size_t x, size_t y);
// Attribute `as`: the element type of a result, where it may differ from `otherwise`, the type that
// the node's operands give it. Results are computed as without it and rounded once.
AttrSpec kept_attr();
Result<DType> kept_type(const NodeView& n, DType otherwise);
// Operand `i`, which is added to a result, has the result's type; beside operands in f64 it has
// theirs.
Status expect_addend(const NodeView& n, size_t i, const Type& result, DType operands);
ValueId widened(Builder& b, ValueId x);  // in wide() of its type
// Reductions over attribute `axes`: the axes that stay, and the type of the result.
std::vector<int64_t> kept_axes(const NodeView& n);
Result<Types> reduced(const NodeView& n);

// Blocks of the 8-bit format (quantize_dynamic.cc) that hold this number of elements.
inline constexpr int64_t kDynamicBlock = 256;
inline int64_t dynamic_blocks(int64_t elements) {
  return (elements + kDynamicBlock - 1) / kDynamicBlock;
}

// The type in which sums over values of `t` are kept: f32 for bf16 and f16, else t itself.
DType wide(DType t);
ValueId number(Builder& b, double value, ValueId like);          // [] constant of like's dtype
ValueId along_rows(Builder& b, ValueId v, const Type& like);     // [T] -> [T,C]
ValueId along_columns(Builder& b, ValueId v, const Type& like);  // [C] -> [T,C]
// softcap * tanh(scores / softcap); `tangent`, if given, receives the tanh.
ValueId cap_scores(Builder& b, ValueId scores, double softcap, ValueId* tangent = nullptr);
// With attribute `sums` also the sums of the rows of the first result as it is kept, in wide() of its type.
Values with_row_sums(Builder& b, const NodeView& n, Values made);
// The gradient `d` of an elementwise result as that of an operand: summed when the operand is [].
ValueId fit(Builder& b, ValueId d, const Type& operand);
bool is_constant(const Builder& b, ValueId v, double value);  // made by constant(value)

}  // namespace hone
