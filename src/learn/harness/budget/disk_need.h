// Disk space of a run, known before its first step: of all its ranks, whose files are in one folder.
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
  int64_t checkpoints = 0;       // at once: a new one is written before an old one is deleted
  int64_t written = 0;           // checkpoints of the whole run
  int64_t offload_bytes = 0;     // in output_dir; 0 if it is in another folder
  int64_t bytes() const { return model_bytes + checkpoints * checkpoint_bytes + offload_bytes; }
};

// Names of the weights in a checkpoint: only the adapter's, if there is one.
std::vector<std::string> saved_weights(const ModelConfig& config);
// States in a checkpoint of these weights: with the moments, unless --save_only_model.
std::vector<const StateSlot*> saved_states(const TrainSettings& s, const RunPlan& plan,
                                           const std::vector<std::string>& weights);

// `plan`: of one rank. `weights`: saved ones. `steps`: of the whole run. `epochs`: their number.
DiskNeed disk_need(const TrainSettings& s, const RunPlan& plan,
                   const std::vector<std::string>& weights, int64_t steps, double epochs);

// H2425 if `free_bytes` are too few, with the --save_total_limit that fits. `existing`: bytes of
// checkpoints that are in output_dir already; they are not free, but new checkpoints replace them.
Status check_disk_need(const TrainSettings& s, const DiskNeed& need, int64_t free_bytes,
                       int64_t existing);

}  // namespace hone
