// The command hone pipeline exec, which runs one command and writes each requested member of the JSON object that it
// printed to a file. Kubeflow Pipelines and Argo pass results between steps in such files.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Creates `folders`, runs `command`, and prints its output. Each element of `writes` is MEMBER=FILE. The word "hone" at
// the start of the command becomes `hone_program`. Returns the exit status of the command; without success no files are
// written. Errors: H3006 there is no command, or an element of `writes` is malformed; H3163 the command did not print a
// member; those of the store.
Result<int> exec_command(std::vector<std::string> command, const std::vector<std::string>& folders,
                         const std::vector<std::string>& writes, const std::string& hone_program);

}  // namespace hone
