// The rows of each weight, its gradient and its optimizer states on a rank, by the stages of ZeRO
// (shared_update.h).
#pragma once

#include <optional>

#include "engine/graph/op.h"
#include "engine/passes/shard.h"
#include "learn/train/update_options.h"

namespace hone {

// The rows of a weight, of its gradient and of the optimizer's states that a rank holds.
struct WeightSplit {
  bool whole = true;   // every rank has all of them: there are fewer units than ranks
  int64_t unit = 1;    // rows that stay together (share_rows)
  int64_t owner = -1;  // else the rank that has all rows, by a rule that needs the whole tensor
  RowRange held(const Type& weight, const Share& share) const;
};
// Rules for whole tensors, and weights in bf16 that are rounded at random, give each tensor to the rank
// with the fewest bytes so far.
std::vector<WeightSplit> split_weights(const std::vector<UpdateWeight>& weights,
                                       const UpdateOptions& options);

// The state of a gradient: in stages 2 and 3 its rows on this rank. nullopt: it has none.
struct GradientState {
  State state;
  Type type;
};
std::optional<GradientState> gradient_state(const UpdateWeight& weight, const WeightSplit& split,
                                            const UpdateOptions& options);

// The weights that stage 3 keeps as rows (TrainPasses::sharding), trained or not: those that the
// update splits, and frozen ones of at least `least_elements`. All programs of a run take it.
Sharding sharding_of(const std::vector<UpdateWeight>& weights, const UpdateOptions& options,
                     int64_t least_elements);

}  // namespace hone
