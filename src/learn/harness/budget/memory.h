// Finds the largest micro-batch whose run fits into memory, and compares planned with measured memory.
#pragma once

#include "learn/harness/budget/limits.h"
#include "learn/harness/budget/programs.h"

namespace hone {

// The split into micro-batches with which a run fits, and the plan of the run with it.
struct Fit {
  int64_t rows = 0;         // rows of a micro-batch; 0: not even one row fits
  bool whole = false;       // true: a step is one micro-batch and one program
  RunPlan plan;             // the plan for `rows`; if none fits, the smallest plan for one row
  RunBudgets budgets = {};  // set RunShapes::budgets to these to get the same plan
};
// Returns the shapes of a run whose micro-batches have at most `rows` rows. `whole`: see Fit.
using ShapesOf = std::function<RunShapes(int64_t rows, bool whole)>;
// Finds the number of rows of a micro-batch with which the run fits into `limits`.
//   - It is the largest divisor of `wanted_rows` that fits. `wanted_rows`: rows of a batch on this rank.
//   - If not even one row fits, activations are recomputed until one row fits.
//   - States that the host has no room for stay on the device or go to disk (host_room.h).
//   - `keep`: the split of the run to resume. It is used if it fits, with recomputed activations if needed; otherwise
//     the largest smaller divisor that fits is used.
//   - With --split_invariant N a micro-batch has exactly N rows, with recomputed activations if needed; Fit::rows is 0
//     if N rows do not fit.
// Errors: H0211 --split_invariant with a JointLoss; those of plan_of.
Result<Fit> fit_run(const TaskModel& m, const Backend& backend, int64_t wanted_rows,
                    const ArenaLimits& limits, const ShapesOf& shapes_of,
                    const std::optional<Split>& keep = {});

// The largest number of rows that largest_micro_batch() tries.
inline constexpr int64_t kMostRowsTried = 65536;
struct LargestBatch {
  int64_t rows = 0;  // rows of the largest micro-batch that fits; 0: not even one row fits
  Needs one_more;    // memory that rows + 1 rows need; zeros if `rows` is kMostRowsTried
};
// Finds the largest number of rows that fit in a micro-batch, at most kMostRowsTried. The number depends on the device,
// the limits and the shapes of rows, not on per_device_train_batch_size. Errors: those of plan_of.
Result<LargestBatch> largest_micro_batch(const TaskModel& m, const Backend& backend,
                                         const ArenaLimits& limits, const ShapesOf& shapes_of);

// The size of the longest row on the first axis: "512 tokens", or the form's row_text, such as "224 x 224 pixels".
std::string row_size_text(const RunForm& form);
// A sentence for a run that does not fit: "the run needs 3.0 GiB with one row of 512 tokens, 2.0 GiB may be used". If
// device and host have separate limits, or the disk is too small: "the run does not fit with one row of 512 tokens:
// device: 3.0 GiB needed, ...". `row`: row_size_text(). `rows`: number of rows of the micro-batch.
std::string needs_text(const Needs& needs, const std::string& row, const ArenaLimits& limits,
                       int64_t rows = 1);

// Planned and measured memory of a run.
struct MemoryReport {
  int64_t planned_bytes = 0;  // bytes of the arenas by the plan
  // Bytes of the process's anonymous and shared pages now, minus runtime_bytes.
  int64_t measured_bytes = 0;
  // Bytes of the process's anonymous and shared pages just before the arenas were mapped: tokenizer, data.
  int64_t runtime_bytes = 0;
  int64_t arena_bytes = 0;   // bytes of the arenas that are in the process's memory now
  int64_t device_bytes = 0;  // bytes of the arena of a device with its own memory; else 0
  // Limit for the memory besides the arenas, including the rows.
  int64_t budget_bytes = kRuntimeBudget;
  // "arena 3.0 GiB as planned, 2.9 GiB of it in memory; runtime 120.0 MiB of 192.0 MiB".
  std::string text() const;
};

}  // namespace hone
