// hone generate, and the same under the name of Transformers' example script.
#pragma once

#include "run/commands/command.h"

namespace hone {

// as_script: run_generation's defaults (it samples: top_k 0, top_p 0.9, 20 new tokens) and output.
Result<int> run_generate(const std::vector<std::string>& args, bool as_script);

}  // namespace hone
