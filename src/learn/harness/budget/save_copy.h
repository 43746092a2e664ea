// Plans host memory for a copy of the states that a checkpoint saves. With the copy, training continues while the
// checkpoint is uploaded to a bucket. Without the copy, the next step waits until the upload has read all states.
#pragma once

#include <string>
#include <vector>

#include "learn/harness/budget/limits.h"

namespace hone {

struct SaveCopy {
  int64_t needed = 0;     // bytes of the copy; 0: nothing to copy, or a state is on disk
  bool has_room = false;  // false: there is not enough memory, so no copy is made
  int64_t bytes() const { return has_room ? needed : 0; }  // memory to allocate
  std::string text() const;  // "512.0 MiB", or "none, 512.0 MiB are not free: steps wait ..."
};

// Whether checkpoints are uploaded to a bucket while training continues.
bool saves_beside_training(const TrainSettings& s);

// The copy uses host memory that the plan leaves free: all of it if a flag limits the memory, else at most half.
// `weights`: names of the saved weights (saved_weights).
SaveCopy plan_save_copy(const TrainSettings& s, const RunPlan& plan,
                        const std::vector<std::string>& weights, const DeviceSpec& spec,
                        const ArenaLimits& limits);

}  // namespace hone
