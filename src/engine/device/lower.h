// Lowering: rewrites a program until a backend has a kernel for every node.
#pragma once

#include "engine/device/backend.h"

namespace hone {

// Replaces every composite that `backend` declines by its decomposition, until all nodes are
// accepted. Names, scopes, states and outputs stay. A declined primitive is an Error kDeclined with
// the op, its scope and the backend's reason. Views (nodes whose Op::view_offset is >= 0) and
// copies need no kernel: their choices are called "view" and "copy". `choices` receives the
// backend's choice for each node of the result.
Result<Program> lower(Program program, const Backend& backend,
                      std::vector<Choice>* choices = nullptr);

// Whether the node is a view of its input 0: no kernel, no storage.
bool is_view(const NodeView& n);
// Whether the node needs a kernel: it is neither a view nor a copy.
bool has_kernel(const NodeView& n);

}  // namespace hone
