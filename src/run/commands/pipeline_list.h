// hone pipeline list: a row for each run, with its verdict.
#pragma once

#include <string>

#include "run/commands/pipeline_runs.h"

namespace hone {

// Prints the runs whose state is in a folder. `is_named`: the user named the place, so a folder without runs is an
// Error: H3167.
Result<int> list_pipeline_runs(const std::string& folder, bool is_named, const ShownRuns& how);

}  // namespace hone
