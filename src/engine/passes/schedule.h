// schedule: the order of the nodes, for the least memory alive at once.
//
// A node that frees more than it takes moves up to where its operands are there: the update of a
// weight after the last reader of its gradient and of the weight's old version, a sum of rows after
// what it sums. So do a small node of the update, such as the squares of a gradient, for which the
// update may wait, and a part of an update, which takes nothing. Nothing else moves, collectives and
// waits in particular keep their order, which all ranks share. The order stays as it was unless the
// most bytes alive at one node become fewer. Placement: no value changes.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> schedule(Program& p);

}  // namespace hone
