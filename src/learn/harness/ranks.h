// The plan of one of several equal devices of a machine, one process (rank) each.
//
// A stage says what is cut: 0 nothing, 1 the optimizer's states, 2 gradients too, 3 weights too. Of
// what is cut a rank holds 1/N, rows of the first axis: ceil(rows / N) of them, which is what the
// first ranks hold. Tensors of fewer elements than --offload_persistence_threshold are whole on each.
// In stage 3 weights are gathered layer by layer, kStayGap nodes ahead, and leave again; in stages 2
// and 3 gradients are summed into the shards when they are made. The update works on shards. Each rank
// has its own micro-batches: a step has N times the rows of one device.
// After S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models",
// 2020. hone has one rank today, so this plans what no run does yet.
#pragma once

#include "learn/harness/placement.h"

namespace hone {

struct RankLayout {
  int64_t ranks = 1;
  int stage = 0;
  Space optimizer = Space::device;  // where the shards of the optimizer's states are
  Space others = Space::device;     // where those of weights and gradients are
  bool gradient_checkpointing = false;
  std::string text() const;  // "ZeRO stage 3, optimizer states on host"
};

struct RankPlan {
  RankLayout layout;
  int64_t rows = 0;                           // of a micro-batch; 0: does not fit
  PerSpace<int64_t> bytes;                    // of one rank, without its runtime
  std::map<std::string, int64_t> by_purpose;  // of its device; sums to bytes[device]
  double seconds = 0;                         // of a step, with what goes between the ranks
  double flops = 0;                           // of a rank's step
  std::string why;                            // why it fails or wins
};

// With `rows` rows in a micro-batch. `device`: the speeds.
Result<RankPlan> plan_rank(const TaskModel& m, const Backend& backend, const RankLayout& layout,
                           int64_t rows, int64_t row_tokens, const DeviceSpec& device);

// The layouts in the order of what goes between the devices, and then over the host's links, up to the
// first that fits, which is the last of the result: rows > 0. The host's limit is that of the machine.
Result<std::vector<RankPlan>> try_layouts(const TaskModel& m, const Backend& backend, int64_t ranks,
                                          int64_t row_tokens, const DeviceSpec& device,
                                          const ArenaLimits& limits);

}  // namespace hone
