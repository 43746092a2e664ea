// recompute: values of the forward pass are computed again where the backward pass reads them,
// instead of being kept.
//
//   %5 = layer_norm(%4, ..)              %5 = layer_norm(%4, ..)
//   %6 = linear(%5, ..)                  %6 = linear(%5, ..)
//   ...                            ->    ...
//                                        %40 = layer_norm(%4, ..) clone
//   %30 = matmul(%5, %29)                %30 = matmul(%40, %29)
//
// A value is recomputed at most once. The operands of its node are in memory or are recomputed too.
// If a node applies an activation and keeps its input, the activation alone may be recomputed.
//
// The choice: values whose byte at the peak costs the least time, by the cost model, until the
// program is as small as requested (after T. Chen et al., "Training Deep Nets with Sublinear Memory
// Cost", 2016, and A. Jain et al., "Checkmate", 2020, without their solvers). Placement: no value
// changes. It depends on the program and the speeds, not on the machine.
#pragma once

#include <limits>

#include "engine/graph/graph.h"
#include "engine/plan/cost_model.h"

namespace hone {

struct Recompute {
  // All that the blocks keep but what goes from one to the next, as gradient checkpointing does. A
  // block is a layer: the part of a scope up to its first number ("h.3" of "h.3.attn").
  bool blocks = false;
  // The share of the bytes kept when the backward pass begins, at most; less has no effect where
  // the peak, which may be elsewhere, would be higher.
  double share = 1;
  // At each node at most, with the gradients that are states; no effect where nothing more can be
  // made again.
  int64_t bytes = std::numeric_limits<int64_t>::max();
  Speeds speeds = kTypicalCpu;

  bool any() const { return blocks || share < 1 || bytes < std::numeric_limits<int64_t>::max(); }
};

Result<bool> recompute(Program& p, const Recompute& how);

// The part of the program's time that its clones take.
double clone_seconds(const Program& p, const Speeds& speeds);

}  // namespace hone
