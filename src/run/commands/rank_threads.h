// Runs the ranks of a training as threads of this process. Each rank has one of the devices (such as the cores of a
// TPU) that a PJRT plug-in offers. Programs with collectives (operations in which all ranks take part) run on all of
// these devices at once (engine/backends/xla/together.h).
#pragma once

#include <functional>

#include "learn/harness/task.h"
#include "learn/train/run_ranks.h"

namespace hone {

// The number of ranks in this process, from --device and --tpu_num_cores. Errors: those of local_ranks_of(); H0211
// several ranks are requested, but a launcher has started this process as one of several ranks.
Result<int> rank_threads_of(const TaskSettings& s);

// Opens a device for each of `count` ranks, and calls run() on one thread for each rank, with the RunRanks of the rank.
// Ranks other than 0 log only errors. Returns the result of rank 0 if all ranks succeed. If ranks fail, returns the
// error of the rank with the lowest number whose error is not H1502 or H1503, which only report that another rank has
// ended. Errors: those of open_backend() and of `run`.
Result<int> run_rank_threads(const TaskSettings& s, int count,
                             const std::function<Result<int>(std::shared_ptr<RunRanks>)>& run);

}  // namespace hone
