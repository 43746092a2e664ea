// Checks a pipeline and describes it before hone pipeline runs its steps.
#pragma once

#include <string>
#include <vector>

#include "operate/pipeline/pipeline.h"
#include "run/commands/pipeline_script.h"

namespace hone {

// Checks everything that can be checked before the first step runs. Errors:
//   H2101  the data file does not exist
//   H2109  a data file of this machine does not have a column that the recipe names
//   H3161  a command of hone refuses its flags; the error has the command's own message
//   H3161  `asks_servers` is true, and the running server of an endpoint cannot load a new version, or needs a key
// `hone_program` is the path of the program hone.
Status check_pipeline(const Pipeline& pipeline, const std::string& hone_program, bool asks_servers);

// A list with one line: the memory and time that hone plan predicts for the machine that the pipeline names, or the
// reason why there is no prediction. An empty list if the pipeline names no machine.
std::vector<std::string> planned_lines(const Pipeline& pipeline, const std::string& hone_program);
// The pipeline as an object, for hone pipeline run --dry_run --json. `root` is the folder of the runs; `plan` is from
// planned_lines().
OrderedJson pipeline_json(const Pipeline& pipeline, const std::string& root,
                          const ScriptPlace& place, const std::vector<std::string>& plan);
// The pipeline as a shell script (pipeline_script()), with facts about the pipeline as comments.
std::string dry_run_text(const Pipeline& pipeline, const std::string& root,
                         const ScriptPlace& place, const std::vector<std::string>& plan);

}  // namespace hone
