// The micro-batch that fits the memory of a run, and the memory that the run took.
#pragma once

#include "learn/harness/budget/limits.h"
#include "learn/harness/budget/programs.h"

namespace hone {

// The largest divisor of per_device_train_batch_size (without training: of
// per_device_eval_batch_size) whose arenas take at most `memory_bytes`.
struct Fit {
  int64_t rows = 0;         // of a micro-batch; 0: not even one row fits
  bool whole = false;       // a step is one micro-batch and one program
  RunPlan plan;             // for `rows`, or the smallest for one row if none fits
  RunBudgets budgets = {};  // of RunShapes
};
// Finds the micro-batch. States that exceed the host's memory stay on the device or go to disk. If
// not even one row fits, or not the split to keep, activations are recomputed until it does.
using ShapesOf = std::function<RunShapes(int64_t rows, bool whole)>;
// `keep`: use this split if it fits. A run in units (--split_invariant) takes their rows or none.
Result<Fit> fit_run(const TaskModel& m, const Backend& backend, int64_t wanted_rows,
                    const ArenaLimits& limits, const ShapesOf& shapes_of,
                    const std::optional<Split>& keep = {});

// The largest number of rows that fit in a micro-batch: one more does not fit. At most
// kMostRowsTried. It depends on the device, its limits and the shapes of rows, not on
// per_device_train_batch_size.
inline constexpr int64_t kMostRowsTried = 65536;
struct LargestBatch {
  int64_t rows = 0;
  Needs one_more;  // of one row more; zeros if `rows` is kMostRowsTried
};
Result<LargestBatch> largest_micro_batch(const TaskModel& m, const Backend& backend,
                                         const ArenaLimits& limits, const ShapesOf& shapes_of);

// The largest row of the first axis: "512 tokens", or the text of the form.
std::string row_size_text(const RunForm& form);
// "the run needs 3.0 GiB with one row of 512 tokens, 2.0 GiB may be used"; if there are several
// spaces, for the one whose limit is exceeded.
std::string needs_text(const Needs& needs, const std::string& row, const ArenaLimits& limits,
                       int64_t rows = 1);

// Planned and measured memory of a run. Measured: anonymous and shared pages of the process now,
// less those just before the arena was mapped.
struct MemoryReport {
  int64_t planned_bytes = 0;
  int64_t measured_bytes = 0;
  int64_t runtime_bytes = 0;              // before the arena: tokenizer, data, plans
  int64_t arena_bytes = 0;                // of the arena, in this process's memory now
  int64_t device_bytes = 0;               // of the arena, on a device with memory of its own
  int64_t budget_bytes = kRuntimeBudget;  // of everything but the arena, with its rows
  std::string text() const;               // the arena, then everything else
};

}  // namespace hone
