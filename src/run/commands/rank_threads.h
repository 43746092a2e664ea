// Ranks that are threads of this process, each with one of the devices (such as the cores of a TPU) that a PJRT plug-in
// shows. Programs with collectives run on all of these devices at once (engine/backends/xla/together.h).
#pragma once

#include <functional>

#include "learn/harness/task.h"
#include "learn/train/run_ranks.h"

namespace hone {

// The number of ranks in this process, from --device and --tpu_num_cores. Errors: those of local_ranks_of(); H0211
// several are requested, and a launcher has started this process as one rank of several.
Result<int> rank_threads_of(const TaskSettings& s);

// Opens a device for each of `count` ranks, and calls run(ranks) on a thread for each rank. Ranks other than 0 log only
// errors. Returns the result of rank 0 if all succeed. If ranks fail, returns the error of the first rank whose error
// is not a consequence of another rank's end (H1502, H1503). Errors: those of open_backend() and of `run`.
Result<int> run_rank_threads(const TaskSettings& s, int count,
                             const std::function<Result<int>(std::shared_ptr<RunRanks>)>& run);

}  // namespace hone
