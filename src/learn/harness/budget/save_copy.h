// Memory for a copy of a checkpoint's states. With it, steps change weights and moments while the
// checkpoint is uploaded to a bucket; without it they wait until all states are read.
#pragma once

#include <string>
#include <vector>

#include "learn/harness/budget/limits.h"

namespace hone {

struct SaveCopy {
  int64_t needed = 0;     // 0: nothing to copy, or it is on disk
  bool has_room = false;  // false: there is no copy
  int64_t bytes() const { return has_room ? needed : 0; }
  std::string text() const;  // "512.0 MiB"; "none, ..."
};

// Whether checkpoints go into a bucket while training continues.
bool saves_beside_training(const TrainSettings& s);

// The copy takes memory of the host that the plan leaves; without a flag, at most half of it.
// `weights`: names of the saved weights.
SaveCopy plan_save_copy(const TrainSettings& s, const RunPlan& plan,
                        const std::vector<std::string>& weights, const DeviceSpec& spec,
                        const ArenaLimits& limits);

}  // namespace hone
