// The command hone generate, also under the name of Transformers' example script run_generation.py.
#pragma once

#include "run/commands/command.h"

namespace hone {

// `as_script` true: uses the defaults and the output format of run_generation.py: it samples, with top_k 0, top_p 0.9
// and 20 new tokens. Returns the exit status.
Result<int> run_generate(const std::vector<std::string>& args, bool as_script);

}  // namespace hone
