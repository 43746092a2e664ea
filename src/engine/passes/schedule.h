// schedule: reorders the nodes to lower the peak of the bytes that are alive at one node.
//
// A node that frees more bytes than it allocates moves to the earliest place at which it may run. For example, the
// update of a weight moves to the place after the last other reader of the gradient and of the weight's old version. A
// sum of rows moves to the place after the node whose result it sums. Two kinds of nodes of the update phase move the
// same way: small nodes (up to 4 KiB of results, such as the sum of squares of a gradient), because an update may read
// their results; and updates of a part of a weight, which allocate nothing. Other nodes do not move. In particular,
// collectives and waits keep their order, which must be equal on all ranks. If the peak does not become lower, the old
// order stays. Placement: no value changes.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> schedule(Program& p);

}  // namespace hone
