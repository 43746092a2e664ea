// Runs hone train when it is called by the name of one of Transformers' example scripts, such as run_clm.py.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Runs hone train with `args` and --task `task`; if `flag` is "preset", with --preset `task`. `name` is the name of the
// script, for its help. Returns the exit status.
Result<int> run_script(const std::string& name, const std::string& task,
                       const std::vector<std::string>& args, const std::string& flag = "task");

}  // namespace hone
