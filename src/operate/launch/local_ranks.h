// The ranks of a run on this host, as processes to start.
#pragma once

#include "base/ranks/world.h"
#include "operate/launch/rank_group.h"

namespace hone {

// A process for each rank: its place in the run, its share of the processor cores, its GPU, and the
// variables that say so. Variables of the user stay: OMP_NUM_THREADS. Errors: H3181.
Result<std::vector<RankChild>> local_ranks(const LaunchRequest& request, int control_port);

// "rank 1: processors 2-3, 2 threads, GPU-5f3a...".
std::string rank_line(const RankChild& child);
// The variables of `child` and its command, as a line of a shell; the token is left out.
std::string command_text(const RankChild& child);

// "0-3,8" of {0, 1, 2, 3, 8}.
std::string number_list(const std::vector<int>& numbers);

}  // namespace hone
