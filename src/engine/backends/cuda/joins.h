// Joins nodes of a lowered program, so that one launch computes several of them (more than one if they
// have more tensors than a launch takes):
//
//   %20 = sum_squares(%g0)                                %20 = sum_squares(%g0, %g1)
//   %21 = sum_squares(%g1), %22 = concat(%20, %21)
//
//   %30, .. = adamw(%p0, ..), %31 = cast(%30)             %30, .., %40, .., %31 = adamw(%p0, %p1, ..)
//   %40, .. = adamw(%p1, ..)                                  {copied=[0]}
//
// It joins optimizer updates that follow each other and have the same rule, scalars and types, with the
// casts of their new weights. It joins sums of squares that one concat reads, if their tensors are also
// read after the concat. All results keep their bits. Nodes that are not on the lane compute, or have a
// value outside of device memory, stay as they are.
#pragma once

#include "engine/device/backend.h"

namespace hone::cuda {

// Joins the nodes, and returns whether it changed the program. Backend::choose() must be called for the new nodes.
bool join_nodes(Program& p);

}  // namespace hone::cuda
