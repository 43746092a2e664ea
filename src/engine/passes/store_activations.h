// store_activations: values of the forward pass that the backward pass reads are kept in bf16 or f16 between the two
// passes.
//
//   %5 : f32[T,C] = linear(%4, ..)            %5 : f32[T,C] = linear(%4, ..)
//   ...                                       %6 : bf16[T,C] = cast(%5)
//   %30 = matmul(%5, %29)              ->     ...
//                                             %40 : f32[T,C] = cast(%6)
//                                             %30 = matmul(%40, %29)
//
// A product that rounds its operands to this type reads %6 directly, without the cast to f32. Products of the forward
// pass do so too, and compute the same bits. There are two exceptions in the forward pass: the head, and products if
// `saturate` is true, read the f32 value.
//
// Other nodes of the forward pass read the f32 values. The exception is a node that returns statistics for the backward
// pass (the log-sum-exp of attention, the mean of a norm): it reads the rounded value, so that both passes see the
// same input. Statistics, vectors, and gradients that are computed with the loss stay f32. Run the pass after
// differentiate and the passes that fuse nodes, before placement passes.
//
// PyTorch's autocast keeps most activations in 16 bits too: Micikevicius et al., "Mixed Precision Training", ICLR 2018.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// `as`: bf16 or f16; f32 changes nothing. saturate: a value beyond the range of `as` is kept as the largest number of
// `as` with its sign, so that it does not make the gradients infinite. The forward pass computes with the exact value.
Result<bool> store_activations(Program& p, DType as, bool saturate = false);

}  // namespace hone
