// Plans one of several equal devices of a machine, one process (rank) each.
//
// A stage decides what is sharded: 0 nothing, 1 the optimizer's states, 2 gradients too, 3 weights
// too. A rank holds 1/N of a sharded tensor: ceil(rows / N) rows of the first axis on the first
// ranks. Tensors with fewer elements than --offload_persistence_threshold are whole on each rank.
// In stage 3 weights are gathered layer by layer, kStayGap nodes ahead, and freed again; in stages
// 2 and 3 gradients are summed into the shards when they are computed. The update works on shards.
// Each rank has its own micro-batches: a step has N times the rows of one device.
// After S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
// Models", 2020. hone runs one rank, so only hone plan uses this.
#pragma once

#include "learn/harness/budget/placement.h"

namespace hone {

struct RankLayout {
  int64_t ranks = 1;
  int stage = 0;
  Space optimizer = Space::device;  // place of the shards of the optimizer's states
  Space others = Space::device;     // place of the shards of weights and gradients
  bool gradient_checkpointing = false;
  std::string text() const;  // "ZeRO stage 3, optimizer states on host"
};

struct RankPlan {
  RankLayout layout;
  int64_t rows = 0;                           // of a micro-batch; 0: does not fit
  PerSpace<int64_t> bytes;                    // of one rank, without its runtime
  std::map<std::string, int64_t> by_purpose;  // of its device; sums to bytes[device]
  double seconds = 0;                         // of a step, with the traffic between ranks
  double flops = 0;                           // of a rank's step
  std::string why;                            // reason why it fails or wins
};

// Plans `rows` rows in a micro-batch. `device`: the speeds.
Result<RankPlan> plan_rank(const TaskModel& m, const Backend& backend, const RankLayout& layout,
                           int64_t rows, int64_t row_tokens, const DeviceSpec& device);

// Tries layouts by rising traffic between the devices, then over the host's links, up to the first
// that fits: the last of the result, with rows > 0. The host's limit is the machine's memory.
Result<std::vector<RankPlan>> try_layouts(const TaskModel& m, const Backend& backend, int64_t ranks,
                                          int64_t row_tokens, const DeviceSpec& device,
                                          const ArenaLimits& limits);

}  // namespace hone
