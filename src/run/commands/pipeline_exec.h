// hone pipeline exec: runs one command, and writes members of the JSON object that it printed to
// files of their own. Kubeflow Pipelines and Argo pass results between steps in such files.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Creates `folders`, then runs the command. Each of `writes` is member=FILE. Prints the command's
// output and returns its exit status.
Result<int> exec_command(std::vector<std::string> command, const std::vector<std::string>& folders,
                         const std::vector<std::string>& writes, const std::string& hone_program);

}  // namespace hone
