// Types of norms and of their gradients. x may be in bf16 or f16 beside gamma in f32, and attribute `as` gives the
// first result another type than x's. In such a node all is computed in f32 and rounded once.
#pragma once

#include "engine/ops/support.h"

namespace hone {

// gamma or beta of x [T,C]: [C] in x's type, or that in which sums are kept.
Status expect_channels(const NodeView& n, size_t i, const Type& x);
// The shape of x, in its type or another of 32 or 16 bits.
Status expect_rows_like(const NodeView& n, size_t i, const Type& x);
// Whether operands or the first result have other types than x; operands of rows are `rows`.
bool is_mixed(const NodeView& n, std::initializer_list<size_t> rows);
// Emits the node's op on float operands in the wide type, without `as` and `sums`.
Values emit_wide(Builder& b, const NodeView& n, DType w);

}  // namespace hone
