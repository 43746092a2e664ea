// Divides the rows of weights, gradients and optimizer states among the ranks, for the stages of ZeRO
// (shared_update.h).
#pragma once

#include <optional>

#include "engine/graph/op.h"
#include "engine/passes/shard.h"
#include "learn/train/update_options.h"

namespace hone {

// The division of one weight. Its gradient and its optimizer states are divided in the same way.
struct WeightSplit {
  // True: every rank has all rows, because the weight is a scalar or empty, or its rows form fewer units than there are
  // ranks.
  bool whole = true;
  int64_t unit = 1;  // number of consecutive rows that stay together (share_rows)
  // The one rank that has all rows; -1: the rows are divided, or `whole` is true.
  int64_t owner = -1;
  // The rows that the rank share.rank has. `weight`: type of the complete weight.
  RowRange held(const Type& weight, const Share& share) const;
};
// The division of each weight among the ranks of options.share. A weight has one owner if its rule needs the whole
// tensor, or if the weight is in bf16 and rounded stochastically. The owner is the rank that owns the fewest bytes of
// the earlier weights in the list.
std::vector<WeightSplit> split_weights(const std::vector<UpdateWeight>& weights,
                                       const UpdateOptions& options);

// The state that keeps the gradient of a weight from one micro-batch to the next.
struct GradientState {
  State state;
  Type type;
};
// The state for one weight. In stages 2 and 3 it has only the rows that this rank has; nullopt: this rank has no rows.
// In other stages it has all rows.
std::optional<GradientState> gradient_state(const UpdateWeight& weight, const WeightSplit& split,
                                            const UpdateOptions& options);

// Describes the weights of which each rank keeps only some rows in stage 3: trained weights that the update divides,
// and frozen weights of at least `least_elements` elements. Empty in other stages. Set TrainPasses::sharding of all
// programs of a run to the result.
Sharding sharding_of(const std::vector<UpdateWeight>& weights, const UpdateOptions& options,
                     int64_t least_elements);

}  // namespace hone
