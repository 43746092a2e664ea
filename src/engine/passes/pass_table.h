// The effect of passes on a program, as text.
#pragma once

#include <string>

#include "engine/passes/pass.h"

namespace hone {

// `built`: the program before the passes.
std::string pass_table(const Program& built, const std::vector<PassRecord>& records);

}  // namespace hone
