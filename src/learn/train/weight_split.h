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
  // Every rank has all rows, because the weight has fewer units of rows than there are ranks.
  bool whole = true;
  int64_t unit = 1;    // number of consecutive rows that stay together (share_rows)
  int64_t owner = -1;  // the one rank that has all rows; -1: the rows are divided, or `whole`
  // The rows on the rank share.rank. `weight`: type of the complete weight.
  RowRange held(const Type& weight, const Share& share) const;
};
// The division of each weight among the ranks of options.share. A weight goes to one owner if its rule needs the whole
// tensor, or if it is in bf16 and rounded stochastically. The owner is the rank with the fewest bytes of earlier
// weights.
std::vector<WeightSplit> split_weights(const std::vector<UpdateWeight>& weights,
                                       const UpdateOptions& options);

// The state that keeps the gradient of a weight from one micro-batch to the next.
struct GradientState {
  State state;
  Type type;
};
// In stages 2 and 3 the state has only the rows on this rank; nullopt: this rank has no rows. In other stages it has
// all rows.
std::optional<GradientState> gradient_state(const UpdateWeight& weight, const WeightSplit& split,
                                            const UpdateOptions& options);

// The weights of which stage 3 keeps only rows on each rank: trained weights that the update divides, and frozen
// weights of at least `least_elements` elements. Set TrainPasses::sharding of all programs of a run to the result. In
// other stages it is empty.
Sharding sharding_of(const std::vector<UpdateWeight>& weights, const UpdateOptions& options,
                     int64_t least_elements);

}  // namespace hone
