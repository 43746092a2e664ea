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
  // Recomputes all values inside the blocks, as gradient checkpointing does; only values that pass
  // from one block to the next are kept. A block is a layer: the part of a scope up to its first
  // number ("h.3" of "h.3.attn").
  bool blocks = false;
  // The largest share of the bytes that may be kept when the backward pass begins. A smaller share
  // has no effect if the peak would become higher; the peak may be at another node.
  double share = 1;
  // The most bytes that may be alive at one node, with the gradients that are states. Has no effect
  // if no further value can be recomputed.
  int64_t bytes = std::numeric_limits<int64_t>::max();
  Speeds speeds = kTypicalCpu;

  bool any() const { return blocks || share < 1 || bytes < std::numeric_limits<int64_t>::max(); }
};

Result<bool> recompute(Program& p, const Recompute& how);

// The part of the program's time that its clones take.
double clone_seconds(const Program& p, const Speeds& speeds);

}  // namespace hone
