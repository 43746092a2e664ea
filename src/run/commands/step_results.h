// Results of a pipeline's steps in lines for people.
#pragma once

#include <string>
#include <vector>

#include "operate/pipeline/pipeline.h"
#include "operate/pipeline/state.h"

namespace hone {

// A line for each fact of the step's result: losses, the metric with its interval, findings, the
// verdict with its reason. `folder`: of the step's files.
std::vector<std::string> step_results(const Pipeline& pipeline, const PipelineStep& step,
                                      const StepRow& row, const std::string& folder);

// The error of a failed step with its places and advice, after an empty line; "" for other steps.
std::string error_of_step(const StepRow& row);

// Two lines: the command that asks the endpoint of a run, and the command that stops it. `outcome`: the
// JSON of the run. Empty without an endpoint.
std::vector<std::string> endpoint_lines(const OrderedJson& outcome);

}  // namespace hone
