// Shows a step of a pipeline's run to people: the step's command in a form that they can type, and its output as text.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/pipeline/state.h"

namespace hone {

// The name and folders of a run, as the commands of its steps use them.
struct CommandPlace {
  std::string run;   // name of the run
  std::string root;  // the folder of all runs
  std::string from;  // the folder in which relative paths begin; "": unknown
};
// Returns the CommandPlace of `run`. `root` is the folder of all runs. `description` is the content of the run's
// run.json.
CommandPlace place_of_commands(const PipelineRunRow& run, const std::string& root,
                               const OrderedJson& description);

struct ResolvedCommand {
  OrderedJson words;          // the words of the command; null: the command cannot be shown
  std::string output_folder;  // a folder to create before the command is typed; "": none
};
// A step's command with its references, such as ${steps.train}, replaced by their values. The command of a finished
// step writes to again/RUN/STEP, because other runs may use the step's folder; any other command writes to the step's
// folder. `words` is null if the value of a reference is unknown, a folder of a reference does not exist, or a word has
// a secret (which run.json shows as "***"). `node` is the step's object in run.json; `rows` are all steps of the run.
ResolvedCommand resolved_command(const CommandPlace& place, const StepRow& step,
                                 const OrderedJson& node, const std::vector<StepRow>& rows);

// The lines of a step's output. If the output is the JSON object of `hone check --json`, its findings become text. Any
// other JSON object is indented, with one member on each line.
std::vector<std::string> output_lines(const std::string& output);

}  // namespace hone
