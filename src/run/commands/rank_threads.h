// Ranks that are threads of this process: each has one of the devices that a PJRT plug-in shows, and programs
// with collectives run on all of them at once (engine/backends/xla/together.h).
#pragma once

#include <functional>

#include "learn/harness/task.h"
#include "learn/train/run_ranks.h"

namespace hone {

// The ranks of this process by --device and --tpu_num_cores. Errors: those of local_ranks_of(); H0211 a
// launcher started this process as one of several.
Result<int> rank_threads_of(const TaskSettings& s);

// Opens a device for each of `count` ranks and calls run(ranks) on a thread for each. Ranks but 0 log errors
// alone. Returns rank 0's result, or the error of the first rank that failed by itself. Errors: those of
// open_backend(); H1502 in the place of an error of which a rank knows that another one ended.
Result<int> run_rank_threads(const TaskSettings& s, int count,
                             const std::function<Result<int>(std::shared_ptr<RunRanks>)>& run);

}  // namespace hone
