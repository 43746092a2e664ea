// The command of a pipeline's step as a shell runs it, and its output as text.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/pipeline/state.h"

namespace hone {

// The words of a step's command with its references replaced as the run replaces them, but a folder that has its last name
// by that; null if one has no known value, or names a folder that does not exist, or a word held a secret. `root`: the folder of the runs; `node`: the step in run.json; `rows`: the steps of the run.
OrderedJson resolved_command(const std::string& root, const std::string& run,
                             const OrderedJson& node, const std::vector<StepRow>& rows);

// The lines of a step's output. The JSON object of `hone check --json` becomes its findings in words, any other object has
// one member a line.
std::vector<std::string> output_lines(const std::string& output);

}  // namespace hone
