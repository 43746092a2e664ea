// The verbs `show` and `cancel` of hone pipeline, which are for one run.
#pragma once

#include <string>

#include "operate/pipeline/state.h"
#include "run/commands/print_table.h"

namespace hone {

// Opens the state of the runs in a folder. Error H3167 if the folder has no runs.
Result<std::unique_ptr<PipelineState>> open_pipeline_state(const std::string& folder);
struct ShownRuns {
  bool json = false;  // prints a JSON object for each run
  TableForm form = {};
};
// Prints a run and its steps, in the order of the pipeline. `name` is the id of the run; "": the newest run. `folder`
// is the folder of `state`. `project` is the Google Cloud project for a link to the run. Returns the exit status. Error
// H3167 if there is no such run.
Result<int> show_pipeline_run(PipelineState& state, const std::string& name,
                              const std::string& folder, const std::string& project,
                              const ShownRuns& how);
// Marks a run as cancelled, and ends its process if the run has one. Returns the exit status. Error H3167 if there is
// no such run, or the run is finished.
Result<int> cancel_pipeline_run(PipelineState& state, const std::string& name);

}  // namespace hone
