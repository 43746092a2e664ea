// recompute: computes values of the forward pass again when the backward pass reads them, instead of keeping them
// (activation checkpointing).
//
//   %5 = layer_norm(%4, ..)              %5 = layer_norm(%4, ..)
//   %6 = linear(%5, ..)                  %6 = linear(%5, ..)
//   ...                            ->    ...
//                                        %40 = layer_norm(%4, ..) clone
//   %30 = matmul(%5, %29)                %30 = matmul(%40, %29)
//
// A value is recomputed at most once. The operands of its node are in memory or are recomputed too. If a node applies
// an activation and keeps the activation's operand (save_pre), the activation alone may be recomputed.
//
// By the cost model, the pass recomputes the values that cost the least time for each byte that they free at the peak,
// until the program is as small as requested. (The idea is that of T. Chen et al., "Training Deep Nets with Sublinear
// Memory Cost", 2016, and A. Jain et al., "Checkmate", 2020, but without their solvers.) Placement: no value changes.
// The choice depends on the program and on `speeds` only.
#pragma once

#include <limits>

#include "engine/graph/graph.h"
#include "engine/plan/cost_model.h"

namespace hone {

struct Recompute {
  // True: recomputes all values inside the blocks, as gradient checkpointing does; only values that pass from one block
  // to the next are kept. A block is a layer: all nodes whose scope is equal up to its first number ("h.3" of
  // "h.3.attn").
  bool blocks = false;
  // The share (0 to 1) of the activations' bytes that may be kept when the backward pass begins. Values whose
  // recomputation would raise the peak are kept anyway.
  double share = 1;
  // The most bytes that may be alive at one node, including gradients that are states. The peak stays above this number
  // if no further value can be recomputed.
  int64_t bytes = std::numeric_limits<int64_t>::max();
  Speeds speeds = kTypicalCpu;

  bool any() const { return blocks || share < 1 || bytes < std::numeric_limits<int64_t>::max(); }
};

Result<bool> recompute(Program& p, const Recompute& how);

// The predicted time of the nodes that the pass repeated (Node::clone), in seconds.
double clone_seconds(const Program& p, const Speeds& speeds);

}  // namespace hone
