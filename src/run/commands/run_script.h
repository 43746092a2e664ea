// Runs hone train under the names of Transformers' example scripts, such as run_clm.py.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Runs hone train with `args` and --task `task`, or --preset `task` if `flag` is "preset". `name` is the name of the
// script, for help. Returns the exit status.
Result<int> run_script(const std::string& name, const std::string& task,
                       const std::vector<std::string>& args, const std::string& flag = "task");

}  // namespace hone
