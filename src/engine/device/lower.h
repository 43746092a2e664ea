// Lowering: rewrites a program until a backend has a kernel for every node.
#pragma once

#include "engine/device/backend.h"

namespace hone {

// The same program with every composite that `backend` declines replaced by its decomposition,
// again and again until all nodes are accepted. Names, scopes, states and outputs stay. A declined
// primitive is an Error kDeclined with the op, its scope and the backend's reason. Views (nodes
// whose Op::view_offset answers >= 0) and copies need no kernel and are not asked for: their choices
// are called "view" and "copy". `choices` gets what the backend chose for each node of the result.
Result<Program> lower(Program program, const Backend& backend,
                      std::vector<Choice>* choices = nullptr);

// Whether the node is a view of its input 0: no kernel, no storage.
bool is_view(const NodeView& n);
// Whether a kernel does the node: it is neither a view nor a copy.
bool has_kernel(const NodeView& n);

}  // namespace hone
