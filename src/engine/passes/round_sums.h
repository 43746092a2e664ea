// round_sums: rows are added to a sum where it waits in 16 bits.
//
//   %4 : f32[V,C] = cast(%3)
//   %5 : f32[V,C] = scatter_add_rows(%0, %1, %4)     ->     %6 : bf16[V,C] = scatter_add_rows(%0, %1, %3)
//   %6 : bf16[V,C] = cast(%5)
//
// Rows are summed in f32 and rounded once, as before: the same bits. A step reads and writes only
// the rows of a table that something is added to. After store_activations; before what places values.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> round_sums(Program& p);

}  // namespace hone
