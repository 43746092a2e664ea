// round_sums: scatter_add_rows adds rows directly to an accumulator in bf16 or f16.
//
//   %4 : f32[V,C] = cast(%3)
//   %5 : f32[V,C] = scatter_add_rows(%0, %1, %4)     ->     %6 : bf16[V,C] = scatter_add_rows(%0, %1, %3)
//   %6 : bf16[V,C] = cast(%5)
//
// Rows are still summed in f32 and rounded once, so the bits are the same. The node then reads and writes only the rows
// to which a row is added, instead of the whole table. Run the pass after store_activations, before placement passes.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> round_sums(Program& p);

}  // namespace hone
