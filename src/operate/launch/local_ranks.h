// The ranks of a run on this host, as processes to start.
#pragma once

#include "base/ranks/world.h"
#include "operate/launch/rank_group.h"

namespace hone {

// The processes to start, one for each local rank, in the order of ranks. Each gets its place in the run, a share of
// the processor cores and a GPU, with the environment variables for them. OMP_NUM_THREADS stays if the user has set it.
// `control_port` is the port of the control plane. Error H3181: the ranks of this host are not among those of the run,
// or there are too few GPUs.
Result<std::vector<RankChild>> local_ranks(const LaunchRequest& request, int control_port);

// The place of a rank for people: "rank 1: processors 2-3, 2 threads, GPU GPU-5f3a...".
std::string rank_line(const RankChild& child);
// The environment variables and the command of `child` as one line for a shell. The secret token is left out.
std::string command_text(const RankChild& child);

// Ascending numbers as ranges: {0, 1, 2, 3, 8} becomes "0-3,8".
std::string number_list(const std::vector<int>& numbers);

}  // namespace hone
