// The output of hone pipeline before it runs anything.
#pragma once

#include <string>
#include <vector>

#include "operate/pipeline/pipeline.h"
#include "run/commands/pipeline_script.h"

namespace hone {

// Checks every command of hone in the pipeline with the command itself: a flag that it does not know is an error
// before the first step. Errors: H3161.
Status check_commands(const Pipeline& pipeline, const std::string& hone_program);

// The columns that a recipe names are in its data, if the data are on this machine. Errors: H2109 at
// the place of the column, those of the data.
Status check_columns(const Pipeline& pipeline);

// hone plan for the machines that the file names; machines that it cannot plan, with the reason.
std::vector<std::string> planned_lines(const Pipeline& pipeline, const std::string& hone_program);

OrderedJson pipeline_json(const Pipeline& pipeline, const std::string& root,
                          const ScriptPlace& place, const std::vector<std::string>& plan);
// pipeline_script with the facts of the pipeline.
std::string dry_run_text(const Pipeline& pipeline, const std::string& root,
                         const ScriptPlace& place, const std::vector<std::string>& plan);

}  // namespace hone
