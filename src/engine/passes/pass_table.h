// The effect of passes on a program, as a table.
#pragma once

#include <string>

#include "engine/passes/pass.h"

namespace hone {

// A line for each pass: whether it changed the program, the number of nodes after it, and its time in milliseconds.
// `built`: the program before the passes, for the first line.
std::string pass_table(const Program& built, const std::vector<PassRecord>& records);

}  // namespace hone
