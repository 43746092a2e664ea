// simplify: removes what computes nothing new. Dead nodes; equal nodes (same op, operands and
// attributes) but clones; x * 1, x + -0 (of integers x + 0); views of the same type; results nobody
// reads that an attribute asks for (save_pre of linear, dw of the head). Values are bit-equal
// before and after.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> simplify(Program& p);
// simplify for programs before differentiate: results that only gradients will read stay.
Result<bool> simplify_forward(Program& p);

// Removes nodes none of whose outputs is read, returned or a state's new version.
bool remove_dead_nodes(Program& p);

// The number of operands, outputs and new versions that name each value.
std::vector<int32_t> count_uses(const Program& p);

}  // namespace hone
