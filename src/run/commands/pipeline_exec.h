// The command hone pipeline exec. It runs one command, which prints a JSON object, and writes members of this object to
// files, one member to each file. Kubeflow Pipelines and Argo pass results between steps in such files.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Creates `folders`, runs `command`, and prints its output. Each element of `writes` is MEMBER=FILE. If the first word
// of the command is "hone", `hone_program` replaces it. Returns the exit status of the command; if it is not 0, no
// files are written. Errors: H3006 there is no command, or an element of `writes` is malformed; H3163 the command did
// not print one of the members; those of the store.
Result<int> exec_command(std::vector<std::string> command, const std::vector<std::string>& folders,
                         const std::vector<std::string>& writes, const std::string& hone_program);

}  // namespace hone
