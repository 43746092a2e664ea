// narrow_values: nodes return their results in bf16 or f16, rounded once, instead of in f32.
//
//   %5 : f32[T,C] = linear(%4, %b) {bf16=true}     %5 : bf16[T,C] = linear(%4, %b) {as="bf16", bf16=true}
//   %6 : f32[T,C] = attention(%5, ..)          ->  %6 : bf16[T,C] = attention(%5, ..)
//   %7 : f32[T,C] = linear(%6, %v, _, %r)          %7 : bf16[T,C] = linear(%6, %v, _, %r) {as="bf16", ..}
//
// As under PyTorch's autocast, results of products and of attention have 16 bits. Results of elementwise ops that read
// them, and gradients of all these values, have 16 bits too. Statistics, vectors, sums over rows and losses are f32. A
// cast to 16 bits is removed if its operand now has 16 bits. The cast of a weight's gradient is removed too, because
// the product writes the gradient in 16 bits. The logits of a head are rounded before the head's loss.
//
// The residual stream is the operands and results of sums, and of ops with a residual, in the forward pass. With bf16
// the stream is bf16 from the embeddings on and rounded at each sum, as in llm.c and in models whose weights PyTorch
// loads in bf16. (Under autocast the stream is f32.) Norms then read 2 bytes an element instead of 4, and
// store_activations need not round the stream again. With f16 the stream stays f32, because sums of many layers can
// exceed the range of f16. The gradient of the residual stream has 16 bits and is rounded at each sum; autocast rounds
// it for each product that reads it.
//
// A value gets 16 bits if infer() of its producer and of each of its readers accepts this, with attribute `as`
// (`dtype` of an embedding) if the op has it. These values always stay f32: operands of ops that move or combine
// elements (concat, sums of gradients) and of the update, outputs of the program, and new versions of states. Run the
// pass after differentiate and the passes that fuse nodes, and before store_activations. If the residual stream is f32,
// store_activations then rounds the values of the stream that the backward pass needs.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// `as`: bf16 or f16, the type to which the program's products round their operands.
Result<bool> narrow_values(Program& p, DType as);

}  // namespace hone
