// narrow_weights: parameters are kept in bf16 and have no copy in f32.
//
//   state "w" %w : f32[K,N]                  ->   state "w" %w : bf16[K,N]
//   %5 = linear(%4, %w) {bf16=true}               %5 = linear(%4, %w) {bf16=true}
//   %6 = embedding(%w, %ids)                      %6 = embedding(%w, %ids) {dtype="f32"}
//   %7 = layer_norm(%5, %gamma)                   %c : f32[N] = cast(%gamma),  %7 = layer_norm(%5, %c)
//
// Products that round their operands to bf16, and ops that read a stored weight (Op::stored_weight), read it as it
// is; an embedding widens the rows that it looks up; other readers, which are of vectors, read it widened. After
// what differentiates and before what updates the weights. All programs of a run take the same
// `weights`.
#pragma once

#include <set>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

// `weights`: names of states in f32; names that the program lacks are skipped.
Result<bool> narrow_weights(Program& p, const std::set<std::string>& weights);

}  // namespace hone
