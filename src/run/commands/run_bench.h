// hone bench, and hone profile, which is the same with a table by op and a trace.
#pragma once

#include "run/commands/command.h"

namespace hone {

Result<int> run_bench(const std::vector<std::string>& args, bool as_profile);

}  // namespace hone
