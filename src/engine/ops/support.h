// Helpers for the definitions of ops: checks for Op::infer, and small builders. cost.h has the costs.
//
// Emitting a value invalidates the references that NodeView::in() returned, so decompositions and gradients copy types
// before they emit. Checks (expect_..., check_...) return H1203 with the node's op and the types of its operands.
#pragma once

#include "engine/graph/builder.h"
#include "engine/ops/cost.h"
#include "engine/ops/errors.h"
#include "engine/ops/ops.h"

namespace hone {

struct BlockScheme;

// H1203 with the text "linear: <what>: inputs f32[2,3], ...", which has the types of all operands ("_": absent).
Error bad_operands(const NodeView& n, const std::string& what);
Status expect_rank(const NodeView& n, size_t i, int rank);
Status expect_same(const NodeView& n, size_t i, size_t j);       // equal dtype and shape
Status expect_type(const NodeView& n, size_t i, const Type& t);  // this dtype and shape
Status expect_float(const NodeView& n, size_t i);
Status expect_axis(const NodeView& n, int64_t axis, int rank);  // 0 <= axis < rank
// The names of the activations that linear, gate and their gradients know, after `first` if it is not empty.
std::vector<std::string> activation_kinds(const std::string& first = "");
// The values of an optional attribute scheme: the schemes' names and "" (none). scales_inside: only the schemes
// whose blocks hold their own scales (block_schemes.h).
std::vector<std::string> scheme_choices(bool scales_inside);
// The payload of a matrix of this scheme must be u8 and have rows of whole blocks.
Status check_payload(const NodeView& n, const BlockScheme& scheme, const Type& payload);
// The operands scales, nested_scales and offset must fit a matrix of this scheme and shape [rows, columns].
Status check_block_scales(const NodeView& n, const BlockScheme& scheme, const Shape& shape);
// The type that the attributes dtype and shape give. H1001: unknown dtype; H1203: a size is negative.
Result<Type> type_attrs(const NodeView& n);

// The result has the type of operand 0, which must be a float; else H1203.
Result<Types> same_as_first(const NodeView& n);
// The result has the type of operands 0 and 1. Their dtypes must be equal. Their shapes must be equal too, unless one
// operand is a scalar, which is broadcast to the other's shape. Else H1203.
Result<Types> same_as_both(const NodeView& n);
// The type to which a product rounds its operands before it multiplies them, by its attribute bf16 or f16; f32 if
// neither is set. If an operand already has this type, product_type() takes it for f32.
DType rounded_to(const NodeView& n);
std::vector<AttrSpec> with_rounding(std::vector<AttrSpec> attrs);  // adds attributes bf16 and f16
void set_rounding(Attrs& attrs, DType to);                         // sets one of them; f32: none
// The element type that the product computes in, given the indices x and y of its two factors. H1203: their types
// differ, or both attributes bf16 and f16 are set.
Result<DType> product_type(const NodeView& n, size_t x, size_t y);
// Attribute `as`: the element type of a result. The result is computed as if `as` were unset, and then rounded once.
AttrSpec kept_attr();
// The value of attribute `as`; `otherwise`, the type that the operands give the result, if it is unset.
Result<DType> kept_type(const NodeView& n, DType otherwise);
// Operand `i`, which is added to a result of type `result`, must have that type. If the node's operands are f64,
// it must be f64 instead.
Status expect_addend(const NodeView& n, size_t i, const Type& result, DType operands);
// Casts x to wide() of its type.
ValueId widened(Builder& b, ValueId x);
// The axes that a reduction over attribute `axes` keeps.
std::vector<int64_t> kept_axes(const NodeView& n);
// The type of the reduction's result. H1203: an axis is out of range, or `axes` does not rise.
Result<Types> reduced(const NodeView& n);

// The number of blocks of kDynamicBlock elements in the 8-bit format of quantize_dynamic.cc.
inline constexpr int64_t kDynamicBlock = 256;
inline int64_t dynamic_blocks(int64_t elements) {
  return (elements + kDynamicBlock - 1) / kDynamicBlock;
}

// The accumulation type, in which values of type `t` are summed: f32 for bf16 and f16, else t itself.
DType wide(DType t);
ValueId number(Builder& b, double value, ValueId like);          // scalar constant of like's dtype
ValueId along_rows(Builder& b, ValueId v, const Type& like);     // broadcasts v [T] to [T,C]
ValueId along_columns(Builder& b, ValueId v, const Type& like);  // broadcasts v [C] to [T,C]
// softcap * tanh(scores / softcap). `tangent`: if not null, receives the value of the tanh.
ValueId cap_scores(Builder& b, ValueId scores, double softcap, ValueId* tangent = nullptr);
// Returns the results `made`. If the node has attribute `sums`, appends the column sums [C] of made[0] [T,C], in
// wide() of its type. made[0] is summed after it is rounded.
Values with_row_sums(Builder& b, const NodeView& n, Values made);
// The gradient of an operand that an elementwise op broadcasts. `d` is the gradient of the op's result; if the operand
// is a scalar, the elements of `d` are summed.
ValueId fit(Builder& b, ValueId d, const Type& operand);
bool is_constant(const Builder& b, ValueId v, double value);  // whether v is constant(value)

}  // namespace hone
