// The command hone pipeline list, which prints a row for each pipeline run, with the verdict about the run's model.
#pragma once

#include <string>

#include "run/commands/pipeline_runs.h"

namespace hone {

// Prints the runs whose state is in `folder`. Returns the exit status. If `is_named` is true (the user named the
// folder), a folder without runs is Error H3167.
Result<int> list_pipeline_runs(const std::string& folder, bool is_named, const ShownRuns& how);

}  // namespace hone
