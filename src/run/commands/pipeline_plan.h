// The output of hone pipeline before it runs anything.
#pragma once

#include <string>
#include <vector>

#include "operate/pipeline/pipeline.h"
#include "run/commands/pipeline_script.h"

namespace hone {

// Checks that need no step:
//   a data file is there (H2101), with the columns that a recipe names, if it is on this machine (H2109 at the place of
//   the column);
//   every command of hone knows its flags (H3161, in the words of the command);
//   with `asks_servers`, the servers of endpoints that run will take a version, and have been given their key (H3161).
Status check_pipeline(const Pipeline& pipeline, const std::string& hone_program, bool asks_servers);

// hone plan for the machines that the file names; machines that it cannot plan, with the reason.
std::vector<std::string> planned_lines(const Pipeline& pipeline, const std::string& hone_program);

OrderedJson pipeline_json(const Pipeline& pipeline, const std::string& root,
                          const ScriptPlace& place, const std::vector<std::string>& plan);
// pipeline_script with the facts of the pipeline.
std::string dry_run_text(const Pipeline& pipeline, const std::string& root,
                         const ScriptPlace& place, const std::vector<std::string>& plan);

}  // namespace hone
