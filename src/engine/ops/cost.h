// The bytes and FLOPs of one node.
#pragma once

#include "engine/graph/op.h"

namespace hone {

// The cost that the node's op computes; if Op::cost is null, elementwise(n, 1).
Cost cost_of(const NodeView& n);

// The functions below return costs for the definitions of ops.

// The cost of an elementwise op. FLOPs: flops_per_element for each element of result 0. Bytes: all operands and
// results.
Cost elementwise(const NodeView& n, double flops_per_element);
// The cost of a matrix product with `sums` elements in its result, each a sum of `terms` products. Bytes: all operands
// and results.
Cost product_cost(const NodeView& n, int64_t sums, int64_t terms);
Cost free_of_charge(const NodeView& n);  // zero, for views and collectives

}  // namespace hone
