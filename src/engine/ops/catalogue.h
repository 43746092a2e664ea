// The table of ops as text.
#pragma once

#include <string>

namespace hone {

// A head, and a line for each op: primitive or composite, gradient, operands, attributes.
std::string op_catalogue();

}  // namespace hone
