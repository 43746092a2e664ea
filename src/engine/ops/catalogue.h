// The table of ops as text, for `hone graph --ops`.
#pragma once

#include <string>

namespace hone {

// A header line, then a line for each op: its name, primitive or composite, whether it has a gradient, its operands,
// its attributes, and the operands that results are written over.
std::string op_catalogue();

}  // namespace hone
