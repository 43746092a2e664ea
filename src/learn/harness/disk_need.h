// What a run writes to disk, known before its first step.
#pragma once

#include <string>
#include <vector>

#include "engine/device/spec.h"
#include "learn/models/config.h"
#include "learn/train/settings.h"

namespace hone {

struct DiskNeed {
  int64_t model_bytes = 0;       // at the end, f32
  int64_t checkpoint_bytes = 0;  // each: weights and, unless --save_only_model, optimizer states
  int64_t checkpoints = 0;       // at a time: a new one is written before an old one is deleted
  int64_t written = 0;           // checkpoints in the whole run
  int64_t offload_bytes = 0;     // in output_dir; 0 where it is in another folder
  int64_t bytes() const { return model_bytes + checkpoints * checkpoint_bytes + offload_bytes; }
};

// Names of the weights that a checkpoint holds: those of an adapter alone, where there is one.
std::vector<std::string> saved_weights(const ModelConfig& config);
// The states that a checkpoint holds, of those weights: with the moments, unless --save_only_model.
std::vector<const StateSlot*> saved_states(const TrainSettings& s, const RunPlan& plan,
                                           const std::vector<std::string>& weights);

// `weights`: that are saved. `steps`: of the whole run. `epochs`: their number.
DiskNeed disk_need(const TrainSettings& s, const RunPlan& plan,
                   const std::vector<std::string>& weights, int64_t steps, double epochs);

// H2425 when `free_bytes` are less, with the --save_total_limit that fits. Checkpoints that are in
// output_dir already, `existing`, are not free space, and make room when they are replaced.
Status check_disk_need(const TrainSettings& s, const DiskNeed& need, int64_t free_bytes,
                       int64_t existing);

}  // namespace hone
