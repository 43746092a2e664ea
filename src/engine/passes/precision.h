// precision: mixed precision (Micikevicius et al., "Mixed Precision Training", ICLR 2018). The matrix products of a
// program (linear, matmul, linear_cross_entropy, conv2d with one group) round their f32 operands to bf16 or f16, and
// add in f32. Everything else stays f32, weights and optimizer states too. bf16 has the range of f32, so with bf16 the
// loss needs no scale. Run the pass before differentiate, so that the products of the backward pass round too.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

enum class Precision { f32, bf16, f16 };

Result<bool> set_precision(Program& p, Precision precision);

}  // namespace hone
