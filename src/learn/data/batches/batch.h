// Packed micro-batches: from the rows of one optimizer step to fixed budgets of tokens.
//
// T is the budget of tokens of a micro-batch, S its sequence slots. Nothing is padded inside:
// sequences are packed one after another, and only what the last one leaves of T is slack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "learn/data/rows/token_rows.h"

namespace hone {

inline constexpr int32_t kIgnoreLabel = -100;

// The few sizes of micro-batch that a run plans for.
struct BatchGrid {
  std::vector<int64_t> budgets;  // T, ascending, at most kMaxBudgets
  int64_t max_rows = 0;          // rows in a micro-batch
  // S: max_rows, and one more for the slack unless every micro-batch fills its budget.
  int64_t slots = 0;
  static constexpr size_t kMaxBudgets = 6;
  int64_t largest() const { return budgets.back(); }
  // Place of a budget in the list.
  size_t index(int64_t budget) const {
    return static_cast<size_t>(std::lower_bound(budgets.begin(), budgets.end(), budget) -
                               budgets.begin());
  }
};

// Rows of equal length (blocks): micro-batches of exactly `rows_per_micro_batch` rows, and the
// sizes that the last ones of an epoch need, `remainder_rows` (0: none). Rows of different
// length: one budget for that many average rows and a deviation to spare (at least the longest
// row, at most that many longest rows), and fractions of it for what is left over; at most twice
// as many rows. All budgets are multiples of 64 then. whole: any rows of this number fit one micro-batch;
// the largest budget is that of the longest ones.
BatchGrid choose_grid(std::span<const int64_t> lengths, int64_t rows_per_micro_batch,
                      int64_t remainder_rows = 0, bool whole = false);

struct MicroBatchPlan {
  std::vector<int32_t> rows;  // indices into the step's rows, in order
  int64_t tokens = 0;
  int64_t budget = 0;  // the smallest that holds them
};

struct StepPlan {
  std::vector<MicroBatchPlan> batches;
  std::vector<std::vector<int32_t>> spare;  // row lists of earlier steps, kept for their memory
  int64_t rows = 0, tokens = 0;
  int64_t label_tokens = 0;  // the normaliser of the step's loss: a row of n tokens has n - 1
};

// What step plans share, so that no step allocates: `batches` with lists of `rows`, and `spare`.
template <class Plan>
void clear_batches(Plan& plan) {
  for (auto& batch : plan.batches) plan.spare.push_back(std::move(batch.rows));
  plan.batches.clear();
}
template <class Plan>
auto& add_batch(Plan& plan) {
  auto& batch = plan.batches.emplace_back();
  if (!plan.spare.empty()) {
    batch.rows = std::move(plan.spare.back());
    batch.rows.clear();
    plan.spare.pop_back();
  }
  return batch;
}
template <class Plan>
void reserve_batches(size_t rows, int64_t max_rows, Plan& plan) {
  plan.batches.reserve(rows);
  plan.spare.resize(rows);
  for (auto& list : plan.spare) list.reserve(std::min(rows, static_cast<size_t>(max_rows)));
}

// First fit in the order given; deterministic. A row longer than grid.largest() is a bug.
StepPlan plan_step(std::span<const int64_t> lengths, const BatchGrid& grid);
// The same into a plan whose memory is used again.
void plan_step(std::span<const int64_t> lengths, const BatchGrid& grid, StepPlan& plan);

// Inputs of one micro-batch. Sequence s holds tokens [cu_seqlens[s], cu_seqlens[s + 1]).
// Slack, if any, is one last sequence: ids 0, labels -100, positions 0, sample_ids -1, so that
// every token belongs to exactly one sequence; empty slots after it repeat T.
struct MicroBatch {
  std::vector<int32_t> ids;  // [T]
  std::vector<int32_t>
      labels;  // [T] already shifted: the next id of the same sequence, -100 at its end
  std::vector<int32_t> positions;   // [T] from 0 in each sequence
  std::vector<int32_t> cu_seqlens;  // [S + 1]
  std::vector<int64_t> sample_ids;  // [T] index of the row in the data set (dropout keys)
  std::vector<int64_t> row_ids;     // [S] the same per sequence; -1 for slack and empty slots
  int64_t tokens = 0;               // without slack
  int64_t sequences = 0;            // without slack
  int64_t label_tokens = 0;
};

// Fills `out`, whose memory is used again. `step_rows[i]` is the row of `data` that index i of
// the plan means. H0117 when the rows' file changed.
Status fill_micro_batch(const TokenRows& data, std::span<const int64_t> step_rows,
                        const MicroBatchPlan& plan, const BatchGrid& grid, MicroBatch& out);

// Gives both the memory that a step of at most `rows` rows can need: no later step allocates.
void reserve_step(size_t rows, const BatchGrid& grid, StepPlan& plan, MicroBatch& out);

}  // namespace hone
