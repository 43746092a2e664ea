// The command hone pipeline list, which prints a row for each run of a pipeline, with the verdict about its model.
#pragma once

#include <string>

#include "run/commands/pipeline_runs.h"

namespace hone {

// Prints the runs whose state is in `folder`. `is_named` true: the user named the folder; then it is Error H3167 if the
// folder has no runs. Returns the exit status.
Result<int> list_pipeline_runs(const std::string& folder, bool is_named, const ShownRuns& how);

}  // namespace hone
