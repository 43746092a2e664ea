// The command hone generate, which can also be called by the name of Transformers' example script run_generation.py.
#pragma once

#include "run/commands/command.h"

namespace hone {

// If `as_script` is true, uses the output format and the defaults of run_generation.py: sampling with top_k 0, top_p
// 0.9 and 20 new tokens. Returns the exit status.
Result<int> run_generate(const std::vector<std::string>& args, bool as_script);

}  // namespace hone
