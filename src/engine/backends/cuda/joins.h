// Joins nodes of a lowered program. A joined node computes the results of several nodes. It takes one launch of a
// kernel, or a few if it has more tensors than one launch takes.
//
//   before                             after
//
//   %20 = sum_squares(%g0)             %22 = sum_squares(%g0, %g1)
//   %21 = sum_squares(%g1)
//   %22 = concat(%20, %21)
//
//   %30, .. = adamw(%p0, ..)           %30, .., %40, .., %31 = adamw(%p0, %p1, ..) {copied=[0]}
//   %31 = cast(%30)
//   %40, .. = adamw(%p1, ..)
//
// The attribute copied=[0] asks for the new weights of tensor 0 a second time, rounded to the type of the cast
// (engine/ops/update_parts.h). Updates are joined if they follow each other and have the same rule, scalars and types;
// the casts of their new weights are joined with them. Sums of squares are joined if one concat reads them and nothing
// else does, and if their tensors are also read after the concat. All results keep their bits. Nodes that are not on
// the lane compute, or have a value outside of device memory, stay as they are.
#pragma once

#include "engine/device/backend.h"

namespace hone::cuda {

// Joins the nodes, and returns whether it changed the program. Backend::choose() must be called for the new nodes.
bool join_nodes(Program& p);

}  // namespace hone::cuda
