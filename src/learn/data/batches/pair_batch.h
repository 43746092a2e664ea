// Packed micro-batches of pairs (source, target) for encoder-decoders: each side has its own budget
// of tokens, and sequence s of one side belongs to sequence s of the other.
#pragma once

#include "learn/data/batches/batch.h"

namespace hone {

struct PairBudget {
  int64_t source = 0, target = 0;  // tokens
  bool operator==(const PairBudget&) const = default;
};

// The few sizes of micro-batch that a run plans for; the last is the largest on both sides.
struct PairGrid {
  std::vector<PairBudget> budgets;  // at most kMaxBudgets
  int64_t max_rows = 0;             // pairs in a micro-batch
  int64_t slots = 0;                // S: max_rows, and one for the slack of both sides
  static constexpr size_t kMaxBudgets = 8;
  const PairBudget& largest() const { return budgets.back(); }
  // The index of the budget that holds this number of tokens with the least slack.
  size_t index(int64_t source, int64_t target) const;
};

// As choose_grid (batch.h), each side by itself: `rows` average pairs and a deviation to spare, and
// fractions of that; also with one side at half, for what is left over. whole: any pairs of this number fit
// one micro-batch.
PairGrid choose_pair_grid(std::span<const int64_t> source_lengths,
                          std::span<const int64_t> target_lengths, int64_t rows,
                          int64_t remainder_rows = 0, bool whole = false);

struct PairBatchPlan {
  std::vector<int32_t> rows;  // indices into the step's pairs, in order
  int64_t source_tokens = 0, target_tokens = 0;
  size_t budget = 0;  // its place in the grid
};

struct PairStepPlan {
  std::vector<PairBatchPlan> batches;
  std::vector<std::vector<int32_t>> spare;  // row lists of earlier steps, kept for their memory
  int64_t rows = 0, source_tokens = 0;
  int64_t label_tokens = 0;  // the normaliser of the step's loss: every token of the targets
};

// First fit in the order given; deterministic, into a plan whose memory is used again. A pair that
// does not fit grid.largest() or has an empty side is a bug.
void plan_pair_step(std::span<const int64_t> source_lengths,
                    std::span<const int64_t> target_lengths, const PairGrid& grid,
                    PairStepPlan& plan);

// Inputs of one micro-batch. target.ids is what the decoder reads: the labels moved on by one
// after the start token. Slack as in MicroBatch, in the same slot on both sides; source.labels is
// empty.
struct PairMicroBatch {
  MicroBatch source, target;
};

// `decoder_start` < 0: each decoder starts with the last token of its labels (mBART).
// `step_rows[i]` is the row of both data that index i of the plan means. H0117 when a file changed.
Status fill_pair_batch(const TokenRows& sources, const TokenRows& targets, int64_t decoder_start,
                       std::span<const int64_t> step_rows, const PairBatchPlan& plan,
                       const PairGrid& grid, PairMicroBatch& out);

// Gives both the memory that a step of at most `rows` pairs can need: no later step allocates.
void reserve_pair_step(size_t rows, const PairGrid& grid, PairStepPlan& plan, PairMicroBatch& out);

}  // namespace hone
