// Plans host memory for a copy of the states that a checkpoint saves, for checkpoints in a bucket. With the copy,
// training continues while the checkpoint is uploaded. Without the copy, the next step waits until the upload has read
// all states.
#pragma once

#include <string>
#include <vector>

#include "learn/harness/budget/limits.h"

namespace hone {

struct SaveCopy {
  // Bytes of the copy; 0: no copy is made, because a state is on disk or there is nothing to copy.
  int64_t needed = 0;
  bool has_room = false;  // false: there is not enough memory, so no copy is made
  int64_t bytes() const { return has_room ? needed : 0; }  // memory to allocate
  std::string text() const;  // "512.0 MiB", or "none, 512.0 MiB are not free: steps wait ..."
};

// Whether checkpoints are uploaded to a bucket while training continues.
bool saves_beside_training(const TrainSettings& s);

// Plans the copy. It may use host memory that the plan leaves free: all of it if --host_memory (on a CPU also
// --device_memory) limits the memory, else at most half. `weights`: names of the saved weights (saved_weights).
SaveCopy plan_save_copy(const TrainSettings& s, const RunPlan& plan,
                        const std::vector<std::string>& weights, const DeviceSpec& spec,
                        const ArenaLimits& limits);

}  // namespace hone
