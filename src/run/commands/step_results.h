// Describes the results of a pipeline's steps in lines for people.
#pragma once

#include <string>
#include <vector>

#include "operate/pipeline/pipeline.h"
#include "operate/pipeline/state.h"

namespace hone {

// One line for each fact of a step's result: losses, the metric with its confidence interval, findings of a check, the
// verdict with its reason. `folder` has the step's files. Empty if the step's command is not a command of hone.
std::vector<std::string> step_results(const Pipeline& pipeline, const PipelineStep& step,
                                      const StepRow& row, const std::string& folder);

// The error of a failed step with its places and remedy, after an empty line; "" if the step has not failed.
std::string error_of_step(const StepRow& row);

// Lines about the endpoint of a run: its URL, a command that sends a request to it, and the command that stops it.
// `outcome` is the JSON of the run.
std::vector<std::string> endpoint_lines(const OrderedJson& outcome);

}  // namespace hone
