// Transformers' scripts as people type them.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// hone train --task `task` under the name of Transformers' script; `flag`: or --preset.
Result<int> run_script(const std::string& name, const std::string& task,
                       const std::vector<std::string>& args, const std::string& flag = "task");

}  // namespace hone
