// The command of a pipeline's step as a shell runs it, and its output as text.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/pipeline/state.h"

namespace hone {

// The folders of a run as its commands name them.
struct CommandPlace {
  std::string run;
  std::string root;  // of the runs
  std::string from;  // relative paths begin there; "": not known
};
// `root`: the folder of the runs; `description`: run.json.
CommandPlace place_of_commands(const PipelineRunRow& run, const std::string& root,
                               const OrderedJson& description);

struct ResolvedCommand {
  OrderedJson words;
  std::string output_folder;  // made before the command; "": the command needs none
};
// A step's command with its references replaced as the run replaces them. That of a finished step writes to
// again/RUN/STEP, that of another to the step's folder, by the name that it has now. `words` is null if a reference has no
// known value, or names a folder that does not exist, or a word held a secret. `node`: the step in run.json;
// `rows`: the steps of the run.
ResolvedCommand resolved_command(const CommandPlace& place, const StepRow& step,
                                 const OrderedJson& node, const std::vector<StepRow>& rows);

// The lines of a step's output. The JSON object of `hone check --json` becomes its findings in words, any other object has
// one member a line.
std::vector<std::string> output_lines(const std::string& output);

}  // namespace hone
