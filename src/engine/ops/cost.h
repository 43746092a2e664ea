// The bytes and FLOPs of one node.
#pragma once

#include "engine/graph/op.h"

namespace hone {

Cost cost_of(const NodeView& n);  // as its op says; where that says nothing, elementwise(n, 1)

// What the definitions of ops say.
Cost elementwise(const NodeView& n, double flops_per_element);  // bytes: all operands and results
Cost free_of_charge(const NodeView& n);                         // a view

}  // namespace hone
