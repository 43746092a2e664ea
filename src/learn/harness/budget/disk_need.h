// Predicts the disk space of a run before its first step. Counts the files of all ranks, because all ranks write into
// the same output folder.
#pragma once

#include <string>
#include <vector>

#include "engine/device/spec.h"
#include "learn/models/config.h"
#include "learn/train/settings.h"

namespace hone {

struct DiskNeed {
  int64_t model_bytes = 0;  // the final model
  // One checkpoint: weights and, unless --save_only_model, optimizer states.
  int64_t checkpoint_bytes = 0;
  // The largest number of checkpoints on the disk at the same time: the number that the run writes, but at most
  // --save_total_limit plus 1, because a new checkpoint is written before an old one is deleted.
  int64_t checkpoints = 0;
  int64_t written = 0;  // number of checkpoints that the whole run writes
  // The files of values offloaded to disk, for the ranks of this machine. 0 if --offload_optimizer_nvme_path is set.
  int64_t offload_bytes = 0;
  // The largest use of the disk of output_dir, in bytes.
  int64_t bytes() const { return model_bytes + checkpoints * checkpoint_bytes + offload_bytes; }
};

// Names of the weights in a checkpoint: all weights of the model or, if it has an adapter, only the adapter's.
std::vector<std::string> saved_weights(const ModelConfig& config);
// The states of the plan that a checkpoint of `weights` holds: these weights and, unless --save_only_model, all
// optimizer states. The pointers are into `plan`.
std::vector<const StateSlot*> saved_states(const TrainSettings& s, const RunPlan& plan,
                                           const std::vector<std::string>& weights);

// Predicts the disk space. `plan`: the plan of one rank. `weights`: names of the saved weights (saved_weights).
// `steps`: number of optimizer steps of the whole run. `epochs`: number of its epochs, which may be a fraction.
DiskNeed disk_need(const TrainSettings& s, const RunPlan& plan,
                   const std::vector<std::string>& weights, int64_t steps, double epochs);

// Returns H2425 if the run needs more than `free_bytes` on the disk. If a --save_total_limit of at least 1 fits, the
// message names it. `existing`: number of checkpoints that are in output_dir already. New checkpoints replace them, so
// this number of checkpoints needs no free space.
Status check_disk_need(const TrainSettings& s, const DiskNeed& need, int64_t free_bytes,
                       int64_t existing);

}  // namespace hone
