// Memory for a copy of what a checkpoint holds. With it, steps change weights and moments while a bucket takes
// the checkpoint; without it they wait until all has been read.
#pragma once

#include <string>
#include <vector>

#include "learn/harness/limits.h"

namespace hone {

struct SaveCopy {
  int64_t needed = 0;     // 0: there is nothing to copy, or it is on disk
  bool has_room = false;  // else there is no copy
  int64_t bytes() const { return has_room ? needed : 0; }
  std::string text() const;  // "512.0 MiB"; "none, ..."
};

// Checkpoints go into a bucket, and training continues meanwhile.
bool saves_beside_training(const TrainSettings& s);

// The plan comes first: the copy is in what it leaves of the host's memory. Where no flag limits that, the
// copy takes half of it at most. `weights`: names of those that are saved.
SaveCopy plan_save_copy(const TrainSettings& s, const RunPlan& plan,
                        const std::vector<std::string>& weights, const DeviceSpec& spec,
                        const ArenaLimits& limits);

}  // namespace hone
