// A pipeline as lines for a shell: hone pipeline run --dry_run.
#pragma once

#include <string>
#include <vector>

#include "operate/pipeline/pipeline.h"

namespace hone {

struct ScriptPlace {
  std::string folder;   // of the run that the lines make: <folder>/<step>
  std::string cache;    // ${cache}
  std::string run;      // ${run}
  std::string hone;     // the program, as a shell finds it
  std::string program;  // of the steps' command "hone"
  std::string project;  // of Google Cloud, or ""
};

// The commands of the steps, quoted, in their order; sh -e runs them. A file keeps each value that a
// step prints for others. `notes`: comments at the top. Lines of several words have 80 columns.
std::string pipeline_script(const Pipeline& pipeline, const ScriptPlace& place,
                            const std::vector<std::string>& notes);

// The command of a step with the paths of its references; references to printed values stay.
std::vector<std::string> exact_command(const PipelineStep& step, const ScriptPlace& place);

// "hone" if a shell finds the program `own` by that name, else its path.
std::string shell_name(const std::string& own);

}  // namespace hone
