// The kernels that a backend chooses for a program, as a table.
#pragma once

#include <string>

#include "engine/device/backend.h"

namespace hone {

// A head line, then a line for each op and kernel. Columns: the number of nodes, the op, the dtype of its first result,
// the kernel's id or "decomposed", and the reason not to use a faster kernel. `p` is not lowered.
std::string kernel_table(const Program& p, const Backend& backend);

}  // namespace hone
