// The memory that a run may take, the micro-batch that fits it, and what a run took.
#pragma once

#include "learn/harness/limits.h"
#include "learn/harness/programs.h"

namespace hone {

// The micro-batch that fits: the largest divisor of per_device_train_batch_size (evaluation alone:
// of per_device_eval_batch_size) whose arenas take at most `memory_bytes`.
struct Fit {
  int64_t rows = 0;         // of a micro-batch; 0: not even one row fits
  bool whole = false;       // a step is one micro-batch and one program
  RunPlan plan;             // with `rows`, or the smallest with one row when none fits
  RunBudgets budgets = {};  // of RunShapes
};
// Where states of the run do not fit into the host's memory, some of them stay on the device or are on
// disk. Where not even one row fits, or not the split to keep, activations are computed again until
// it does.
using ShapesOf = std::function<RunShapes(int64_t rows, bool whole)>;
// `keep`: that split, if it fits.
Result<Fit> fit_run(const TaskModel& m, const Backend& backend, int64_t wanted_rows,
                    const ArenaLimits& limits, const ShapesOf& shapes_of,
                    const std::optional<Split>& keep = {});

// The most rows of a micro-batch that fit, when those of `fit` do: a row more does not. At most
// kMostRowsTried.
inline constexpr int64_t kMostRowsTried = 65536;
Result<int64_t> largest_micro_batch(const TaskModel& m, const Backend& backend, const Fit& fit,
                                    const ArenaLimits& limits, const ShapesOf& shapes_of);

// "the run needs 3.0 GiB with one row of 512 tokens, 2.0 GiB may be used"; of the space whose limit is
// exceeded, where there are several.
std::string needs_text(const Needs& needs, int64_t tokens, const ArenaLimits& limits);

// Planned and measured memory of a run. Measured: what the process keeps in anonymous and shared
// pages now, less what it kept just before the arena was mapped.
struct MemoryReport {
  int64_t planned_bytes = 0;
  int64_t measured_bytes = 0;
  int64_t runtime_bytes = 0;              // what it kept before: tokenizer, data, plans
  int64_t arena_bytes = 0;                // of the arena, in memory now
  int64_t budget_bytes = kRuntimeBudget;  // of all but the arena, with its rows
  std::string text() const;               // the arena, and apart from it all else
};

}  // namespace hone
