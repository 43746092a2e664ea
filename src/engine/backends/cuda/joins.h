// Nodes of a lowered program that one launch does, or as few as their tensors fill:
//
//   %20 = sum_squares(%g0)                                %20 = sum_squares(%g0, %g1)
//   %21 = sum_squares(%g1), %22 = concat(%20, %21)
//
//   %30, .. = adamw(%p0, ..), %31 = cast(%30)             %30, .., %40, .., %31 = adamw(%p0, %p1, ..)
//   %40, .. = adamw(%p1, ..)                                  {copied=[0]}
//
// Updates beside each other whose rules, scalars and types are the same; sums of squares that one node reads, of
// tensors that are read after it anyway. No bit changes. Nodes of other lanes, and those whose values are in
// other spaces, stay as they are.
#pragma once

#include "engine/device/backend.h"

namespace hone::cuda {

// Whether nodes were joined; the new ones need a choice.
bool join_nodes(Program& p);

}  // namespace hone::cuda
