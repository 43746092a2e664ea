// The bytes and FLOPs of one node.
#pragma once

#include "engine/graph/op.h"

namespace hone {

Cost cost_of(const NodeView& n);  // from its op; if that has none, elementwise(n, 1)

// Costs for the definitions of ops.
Cost elementwise(const NodeView& n, double flops_per_element);  // bytes: all operands and results
// A product of `sums` sums of `terms` products of two elements.
Cost product_cost(const NodeView& n, int64_t sums, int64_t terms);
Cost free_of_charge(const NodeView& n);  // a view

}  // namespace hone
