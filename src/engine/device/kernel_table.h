// The kernels that a backend has for a program, as text.
#pragma once

#include <string>

#include "engine/device/backend.h"

namespace hone {

// A head, and a line for each op and kernel: nodes, op, its type, the kernel or "decomposed", why
// not a faster one.
std::string kernel_table(const Program& p, const Backend& backend);

}  // namespace hone
