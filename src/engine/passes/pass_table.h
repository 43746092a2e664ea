// The effect of passes on a program, as a table.
#pragma once

#include <string>

#include "engine/passes/pass.h"

namespace hone {

// The first line describes `built`, the program before the passes. The other lines describe one pass each: whether it
// changed the program, the number of nodes after it, and its time in milliseconds.
std::string pass_table(const Program& built, const std::vector<PassRecord>& records);

}  // namespace hone
