// The kernels that a backend chooses for a program, as a table.
#pragma once

#include <string>

#include "engine/device/backend.h"

namespace hone {

// The table as text: a header line, then one line for all nodes with equal op, type, kernel and reason. Columns: the
// number of these nodes, the op, the dtype of its first result, the id of the kernel ("decomposed" if the backend
// declines the node), and the reason why the backend does not use a faster kernel or declines the node. Call it before
// lower(): `p` must still have the ops that the backend may decline. Views, copies and waits, which need no kernel, are
// left out.
std::string kernel_table(const Program& p, const Backend& backend);

}  // namespace hone
