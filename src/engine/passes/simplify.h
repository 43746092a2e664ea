// simplify: removes nodes and results that are not needed. The remaining values stay equal, bit for bit. It removes:
//   dead nodes, whose results nothing uses
//   repeated nodes with equal op, operands and attributes, except clones
//   x * 1, x + -0 (integers: x + 0), and views that have the type of their operand
//   unused optional results (Op::optional_results), such as save_pre of linear or dw of the head
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> simplify(Program& p);
// simplify for programs before differentiate: keeps optional results, which gradients may read.
Result<bool> simplify_forward(Program& p);

// Removes nodes none of whose results is an operand, an output or a state's new version. Collectives stay, because
// other ranks may use their results. Returns whether a node was removed.
bool remove_dead_nodes(Program& p);

// For each value, the number of operands, outputs and new versions that name it.
std::vector<int32_t> count_uses(const Program& p);

}  // namespace hone
