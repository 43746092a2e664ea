// compute_copies: matrix products read a copy of their weight in bf16 or f16. The update writes the weight and the
// copy.
//
//   %5 = linear(%4, %w) {bf16=true}   ->   state "copy.w" %c : bf16[K,N] {role="copy"}
//   ...                                    %5 = linear(%4, %c) {bf16=true}
//   next %w = %9                           %10 : bf16[K,N] = cast(%9)
//                                          next %w = %9,  next %c = %10
//
// Copies::apart: the f32 weight may be in another space (offload) while the forward and backward passes compute.
// Copies::resident: the weight stays on the device beside its copy. The copy is one more result of the update node
// (its attribute `copied`), without a cast node. A bias that a product rounds (attribute `as`) has a copy too.
// Copies::halves: there is no copy. The weight is in split form (engine/graph/halves.h): the 16-bit upper halves of all
// elements, then the lower halves. Products read the upper halves as bf16; the update has attribute `halves`. For any
// other reader the weight is converted to f32 first. Split form takes 4 bytes an element instead of 6, and an update
// writes 2 bytes less.
//
// The copy is the rounded weight, so products compute the same bits as without a copy. Other readers, such as
// embeddings, read the f32 weight, as under PyTorch's autocast. Run the pass after the update is added and products are
// fused, and before placement passes. All programs of a run must get the same `weights`. The design is that of
// ZeRO-Offload: Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training", USENIX ATC 2021.
#pragma once

#include <set>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

// The names of f32 parameters that products of the program read as their weight (operand 1).
std::set<std::string> multiplied_weights(const Program& p);
// The names of parameters for which a resident copy saves casts: trainable multiplied_weights() and biases of products
// with 16-bit results. The weights of heads (loss ops) are left out, because a step reads them once. The passes
// `precision` and narrow_values, which mark these products, must have run on `p`.
std::set<std::string> resident_weights(const Program& p);

enum class Copies : uint8_t { apart, resident, halves };

// `weights`: names of f32 parameters. `as`: bf16 or f16, the type to which products round their operands; with
// Copies::halves it must be bf16.
Result<bool> compute_copies(Program& p, const std::set<std::string>& weights, DType as,
                            Copies how = Copies::apart);

}  // namespace hone
