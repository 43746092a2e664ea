// store_activations: what the forward pass leaves for the backward pass waits in two bytes.
//
//   %5 : f32[T,C] = linear(%4, ..)            %5 : f32[T,C] = linear(%4, ..)
//   ...                                       %6 : bf16[T,C] = cast(%5)
//   %30 = matmul(%5, %29)              ->     ...
//                                             %40 : f32[T,C] = cast(%6)
//                                             %30 = matmul(%40, %29)
//
// A product that rounds its operands to that type reads %6 itself: no f32 of it is made. So it does
// in the forward pass, with the same bits, but for the head and where values saturate.
//
// Else the forward pass computes with what it has in f32. A node of it that keeps statistics for
// the backward pass (the logsumexp of attention, the mean of a norm) reads the rounded value too,
// so that both passes see one input. Left in f32: statistics, vectors, and the gradients that come
// with the loss. After differentiate and the fusions; before what places values.
//
// Activations in half the bytes, as the autocast of PyTorch keeps most of them: Micikevicius et
// al., "Mixed Precision Training", ICLR 2018.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// `as`: bf16 or f16; f32 changes nothing. saturate: a value beyond the range of `as` waits as the
// largest one, so that it does not make the gradients infinite; the forward pass has it as it is.
Result<bool> store_activations(Program& p, DType as, bool saturate = false);

}  // namespace hone
