// Lowering: rewrites a program until a backend has a kernel for each node.
#pragma once

#include "engine/device/backend.h"
#include "engine/plan/plan.h"

namespace hone {

// Decomposes each composite op that `backend` declines, repeatedly, until all nodes are accepted.
// Names, scopes, states and outputs stay. `choices`, if not null, receives the backend's choice for each node of the
// result. Views and copies need no kernel: their choices have the ids "view" and "copy". H1401 (kDeclined): the backend
// declines a primitive, or a node on the lane host_compute; the error has the op, its scope and the backend's reason.
Result<Program> lower(Program program, const Backend& backend,
                      std::vector<Choice>* choices = nullptr);

// The input of plan_run() for a lowered program, which must outlive it, and its choices.
PlanInput plan_input(const Program& program, std::span<const Choice> choices);

// Whether the node is a view of its operand 0 (Op::view_offset), which needs no kernel and no storage.
bool is_view(const NodeView& n);
// Whether the node needs a kernel: it is neither a view nor a copy.
bool has_kernel(const NodeView& n);

}  // namespace hone
