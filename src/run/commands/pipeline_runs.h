// The verbs of `hone pipeline` for one run: show, cancel.
#pragma once

#include <string>

#include "operate/pipeline/state.h"
#include "run/commands/print_table.h"

namespace hone {

// The state of the runs in a folder. H3167.
Result<std::unique_ptr<PipelineState>> open_pipeline_state(const std::string& folder);
struct ShownRuns {
  bool json = false;  // an object for each run
  TableForm form = {};
};
// Prints the run and its steps in the order of the pipeline. `name`: "" for the newest; `folder`: that of the state;
// `project`: of the link to Google Cloud. H3167.
Result<int> show_pipeline_run(PipelineState& state, const std::string& name,
                              const std::string& folder, const std::string& project,
                              const ShownRuns& how);
// Ends the run's process, if it has one. H3167.
Result<int> cancel_pipeline_run(PipelineState& state, const std::string& name);

}  // namespace hone
