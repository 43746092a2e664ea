// Element types of layer_norm, rms_norm, batch_norm, affine_channels and their gradients. x may be bf16 or f16 while
// gamma is f32, and attribute `as` may give the first result a type that differs from x's. Such a node computes in f32
// and rounds once.
#pragma once

#include "engine/ops/support.h"

namespace hone {

// Checks that operand i (gamma or beta of x [T,C]) is [C] in x's element type or in wide() of it; else H1203.
Status expect_channels(const NodeView& n, size_t i, const Type& x);
// Checks that operand i has x's shape and element type. An f32, bf16 or f16 operand may differ in type from x, unless
// x is f64. Else H1203.
Status expect_rows_like(const NodeView& n, size_t i, const Type& x);
// Whether an element type differs from x's: of operand 1 (gamma), of the first result, or of an operand whose index is
// in `rows`.
bool is_mixed(const NodeView& n, std::initializer_list<size_t> rows);
// Emits the node's op again with its float operands cast to `w`, without the attributes `as` and `sums`.
Values emit_wide(Builder& b, const NodeView& n, DType w);

}  // namespace hone
