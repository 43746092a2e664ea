// Writes a pipeline as a shell script, for hone pipeline run --dry_run.
#pragma once

#include <string>
#include <vector>

#include "operate/pipeline/pipeline.h"

namespace hone {

struct ScriptPlace {
  std::string folder;   // the folder of the run: the files of a step are in <folder>/<step>
  std::string cache;    // the value of the reference ${cache}, a folder that all runs share
  std::string run;      // the value of the reference ${run}, the name of the run
  std::string hone;     // the name or path by which a shell finds the program hone
  std::string program;  // the path that replaces the word "hone" at the start of a step's command
  std::string project;  // the Google Cloud project; "": none
};

// The commands of the steps in their order, quoted for `sh -e`. A value that a step prints for other steps is passed in
// a file. `notes` become comments at the top. Long lines are broken between flags, to at most 80 columns if possible.
std::string pipeline_script(const Pipeline& pipeline, const ScriptPlace& place,
                            const std::vector<std::string>& notes);

// The command of a step, in which its references to paths, such as ${out}, are replaced by the paths. References to
// values that other steps print are not replaced.
std::vector<std::string> exact_command(const PipelineStep& step, const ScriptPlace& place);

// "hone" if a shell finds the program `own` (a path) under the name "hone", else the path.
std::string shell_name(const std::string& own);

}  // namespace hone
