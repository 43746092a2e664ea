// hone pipeline exec: one command, and members of what it printed in files of their own, as a step of
// Kubeflow Pipelines or Argo hands them on.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Makes `folders` first. Each of `writes` is member=FILE. Prints what the command printed; its exit status.
Result<int> exec_command(std::vector<std::string> command, const std::vector<std::string>& folders,
                         const std::vector<std::string>& writes, const std::string& hone_program);

}  // namespace hone
