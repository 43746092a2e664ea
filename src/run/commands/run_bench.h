// The commands hone bench, which measures the speed of training, and hone profile, which also prints a table of the
// time of each operation and writes a trace.
#pragma once

#include "run/commands/command.h"

namespace hone {

// Runs hone profile if `as_profile` is true, else hone bench. Returns the exit status.
Result<int> run_bench(const std::vector<std::string>& args, bool as_profile);

}  // namespace hone
