// precision: the matrix products of a program (linear, matmul, linear_cross_entropy, conv2d of one
// group) take their f32 operands rounded to bf16, or to f16, and keep their sums in f32; all else stays f32, as do
// weights and moments. Mixed precision after Micikevicius et al., "Mixed Precision Training", ICLR
// 2018; bf16 has the range of f32, so the loss needs no scale. Before differentiate: gradients
// follow.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

enum class Precision { f32, bf16, f16 };

Result<bool> set_precision(Program& p, Precision precision);

}  // namespace hone
