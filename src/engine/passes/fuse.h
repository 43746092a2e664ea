// fuse: replaces two nodes, of which one reads the other's result, by one node.
//
//   fuse_forward (run it before differentiate)
//     linear(x, dequantize(q, s))    -> linear {scheme} of q and s: no f32 copy of the weight
//     grouped_matmul(x, dequantize(q, s), starts) -> grouped_blocks(x, q, starts, s)
//     gelu(linear(x, w, b))          -> linear {act="gelu", save_pre}
//     add(linear(x, w, b), r)        -> linear with residual r
//     add(dropout(x), r)             -> dropout with residual r
//   fuse_accumulate (run it after differentiate)
//     add(acc, matmul(x, y))         -> matmul with accumulator acc, written in place
//     add(linear(x, w), r)           -> linear with residual r
//     add(layer_norm_grad(...), r)   -> layer_norm_grad with dsum r; rms_norm_grad the same
//
// Two nodes are fused only if nothing else reads the value between them. Fusing is numeric: one kernel may round
// differently from two. `looked_at`, if not null, is increased by the number of nodes that the pass visited.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> fuse_forward(Program& p, int64_t* looked_at = nullptr);
Result<bool> fuse_accumulate(Program& p, int64_t* looked_at = nullptr);

}  // namespace hone
