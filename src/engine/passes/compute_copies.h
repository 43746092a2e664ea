// compute_copies: products read a copy of their weight in two bytes, which the update writes with
// it.
//
//   %5 = linear(%4, %w) {bf16=true}   ->   state "copy.w" %c : bf16[K,N] {role="copy"}
//   ...                                    %5 = linear(%4, %c) {bf16=true}
//   next %w = %9                           %10 : bf16[K,N] = cast(%9)
//                                          next %w = %9,  next %c = %10
//
// `resident`: the weight stays beside its copy. An update with attribute `copied` then writes the
// copy itself, as one more result; a bias that a product rounds (attribute `as`) has a copy too.
//
// `halves`, of those that are resident in bf16: there is no copy. The weight is kept as halves (engine/graph/halves.h), of
// which products read the upper ones where they are; the update has attribute `halves`. Anything else that reads the
// weight has its numbers joined first. 4 bytes an element instead of 6, and an update writes 2 bytes less.
//
// The copy is the weight, rounded: products have the bits that they have without it. So the weight
// itself, in f32, may be elsewhere (offload) while the forward and the backward pass compute. Other
// readers, such as embeddings, read the weight: the autocast of PyTorch leaves them in f32 too.
// After the update and what fuses products; before what places values. All programs of a run take
// the same `weights`. As ZeRO-Offload keeps weights: Ren et al., "ZeRO-Offload: Democratizing
// Billion-Scale Model Training", USENIX ATC 2021.
#pragma once

#include <set>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

// The parameters in f32 that products of the program read as their second operand.
std::set<std::string> multiplied_weights(const Program& p);
// Those of which a copy beside them saves casts: the same among trainable ones, without the weights
// of heads, which are read once in a step, and with biases of results in 16 bits. `p` has had its
// passes.
std::set<std::string> resident_weights(const Program& p);

enum class Copies : uint8_t { apart, resident, halves };

// `as`: bf16 or f16, what the products round their operands to; bf16 with Copies::halves.
Result<bool> compute_copies(Program& p, const std::set<std::string>& weights, DType as,
                            Copies how = Copies::apart);

}  // namespace hone
