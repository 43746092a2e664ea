// narrow_values: a value that is kept in 16 bits is rounded where it is made.
//
//   %5 : f32[T,C] = linear(%4, %w, %b) {bf16=true}     %5 : bf16[T,C] = linear(%4, %w, %b) {as="bf16", bf16=true}
//   %6 : f32[T,C] = attention(%5, ..)              ->  %6 : bf16[T,C] = attention(%5, ..)
//   %7 : f32[T,C] = linear(%6, %v, _, %r)              %7 : f32[T,C] = linear(%6, %v, _, %r)
//
// The autocast of PyTorch has the same types: results of products, of attention and of what is
// applied to them element by element are in 16 bits, and so are their gradients; statistics,
// vectors, sums and losses are in f32. A cast of such a value to 16 bits is gone, that of a weight's
// gradient too: the product writes it. Logits of a head are rounded before its loss.
//
// The residual stream is in f32 under autocast too: what a sum, or an op with a residual, adds and
// makes in the forward pass. Its gradient is in 16 bits, rounded at each sum; autocast
// rounds it for each product that reads it.
//
// The pass asks the op: a value is in 16 bits if infer() of its producer and of each reader accepts
// that, with attribute `as` where the op has one. Ops that move or combine elements by themselves
// (add, concat) and the update are not asked: their operands stay in f32. So does what the program
// returns or keeps. After differentiate and the fusions; before store_activations, which rounds
// what of the stream waits for the backward pass.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// `as`: bf16 or f16, what the products of the program round their operands to.
Result<bool> narrow_values(Program& p, DType as);

}  // namespace hone
