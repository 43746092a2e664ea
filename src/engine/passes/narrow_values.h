// narrow_values: a value that is kept in 16 bits is rounded where it is made.
//
//   %5 : f32[T,C] = linear(%4, %b) {bf16=true}     %5 : bf16[T,C] = linear(%4, %b) {as="bf16", bf16=true}
//   %6 : f32[T,C] = attention(%5, ..)          ->  %6 : bf16[T,C] = attention(%5, ..)
//   %7 : f32[T,C] = linear(%6, %v, _, %r)          %7 : bf16[T,C] = linear(%6, %v, _, %r) {as="bf16", ..}
//
// Results of products, of attention and of what is applied to them element by element are in 16
// bits, as under the autocast of PyTorch, and so are their gradients; statistics, vectors, sums over
// rows and losses are in f32. A cast of such a value to 16 bits disappears, that of a weight's
// gradient too: the product writes it. Logits of a head are rounded before its loss.
//
// The residual stream is what a sum, or an op with a residual, adds and makes in the forward pass.
// In bf16 it is kept in bf16, from the embeddings on, and rounded at each sum, as in llm.c and in
// models whose weights PyTorch loads in bf16: every norm reads 2 bytes an element instead of 4, and
// nothing is rounded once more to wait for the backward pass. Under autocast it is in f32. In f16 it
// stays in f32, because sums of many layers can exceed the range of f16. Its gradient is in 16
// bits, rounded at each sum; autocast rounds it for each product that reads it.
//
// The pass asks the op: a value is in 16 bits if infer() of its producer and of each reader accepts
// that, with attribute `as` (`dtype` of an embedding) where the op has one. Ops that move or combine
// elements by themselves (concat, sums of gradients) and the update are not asked: their operands
// stay in f32. So does what the program returns or keeps. After differentiate and the fusions; before store_activations, which rounds
// what of the stream waits for the backward pass.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// `as`: bf16 or f16, what the products of the program round their operands to.
Result<bool> narrow_values(Program& p, DType as);

}  // namespace hone
