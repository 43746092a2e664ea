// narrow_weights: parameters become bf16, without an f32 copy.
//
//   state "w" %w : f32[K,N]                  ->   state "w" %w : bf16[K,N]
//   %5 = linear(%4, %w) {bf16=true}               %5 = linear(%4, %w) {bf16=true}
//   %6 = embedding(%w, %ids)                      %6 = embedding(%w, %ids) {dtype="f32"}
//   %7 = layer_norm(%5, %gamma)                   %c : f32[N] = cast(%gamma),  %7 = layer_norm(%5, %c)
//
// Products that round their operands to bf16, and ops that can read a bf16 weight (Op::stored_weight), read the
// parameter directly. An embedding converts the rows that it looks up to f32. All other readers read only vectors and
// get them through a cast to f32. Run the pass after differentiate and before the update is added. All programs of a
// run must get the same `weights`.
#pragma once

#include <set>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

// `weights`: names of f32 states; names that the program does not have are ignored.
Result<bool> narrow_weights(Program& p, const std::set<std::string>& weights);

}  // namespace hone
