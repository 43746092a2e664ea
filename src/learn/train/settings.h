// The settings of training that all tasks have, as a plain struct.
#pragma once

#include <memory>

#include "base/settings/settings.h"
#include "engine/backends/backends.h"
#include "engine/passes/offload.h"
#include "engine/passes/recompute.h"
#include "learn/train/loss_scale.h"

namespace hone {

// Names of all optimizers and schedules (optimizer_choice.cc, schedule.cc).
std::vector<std::string> optimizer_names();
// The arguments of each optimizer that has some, for help: "sgd: momentum, dampening; ...".
std::string optimizer_arguments();
std::vector<std::string> schedule_names();

class RunRanks;

struct TrainSettings {
  TrainSettings();
  TrainSettings(const TrainSettings&);
  TrainSettings& operator=(const TrainSettings&);
  ~TrainSettings();
#define HONE_SETTINGS "learn/train/settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"

  // The ranks of the run, never null. By default one rank; the command sets others.
  std::shared_ptr<RunRanks> ranks;
  // Number of rows of a batch of all ranks together: per_device_train_batch_size times the number of ranks with
  // different rows when no machine is missing.
  int64_t batch_rows() const;
  // The largest number of rows of a batch on one rank: per_device_train_batch_size, or more while machines are missing.
  int64_t rank_rows() const;

  // The name of the device to train on: "cpu" with --use_cpu, else --device.
  std::string device_here() const { return use_cpu ? "cpu" : device; }
  bool shuffles() const { return shuffle && train_sampling_strategy == "random"; }
  // The memory spaces of offloaded values.
  Offload offload() const {
    return {.moments = home_of(offload_optimizer_device),
            .params = home_of(offload_param_device),
            .gradients = home_of(offload_gradient_device),
            .activations = home_of(offload_activation_device),
            .least_elements = offload_persistence_threshold};
  }
  // The activations to recompute.
  Recompute recompute() const {
    Recompute r;
    r.blocks = gradient_checkpointing;
    r.share = activation_memory_budget;
    return r;
  }
  // Whether --allow names this finding, such as "zero_loss".
  bool allows(std::string_view finding) const {
    return std::find(allow.begin(), allow.end(), finding) != allow.end();
  }
  // Whether weights are kept only in bf16.
  bool pure_bf16() const { return dtype == "bfloat16"; }
  bool computes_in_bf16() const { return bf16 || pure_bf16(); }
  // The options of the loss scale; nullopt without --fp16.
  std::optional<LossScaleOptions> loss_scale_options() const {
    if (!fp16) return {};
    return LossScaleOptions{.fixed = loss_scale,
                            .initial_power = initial_scale_power,
                            .window = loss_scale_window,
                            .hysteresis = hysteresis,
                            .consecutive_hysteresis = consecutive_hysteresis,
                            .least = min_loss_scale};
  }
  // The number of steps between log entries; a value below 1 is a share of all steps. It is logging_steps if that is
  // set, else a round number that gives about 50 entries. `total`: steps of the run.
  double logging_interval(int64_t total) const;
  // The number of steps between evaluations; a value below 1 is a share of all steps. It is the first of eval_steps and
  // logging_steps that is set, else 500. The default does not depend on the length of the run, because evaluations cost
  // time.
  double evaluation_interval() const {
    return eval_steps > 0 ? eval_steps : logging_steps > 0 ? logging_steps : 500;
  }
  // The action after a step whose loss or gradients are not finite: "skip", "stop" or "rollback".
  std::string non_finite_policy() const {
    return non_finite == "auto" ? (fp16 ? "skip" : "stop") : non_finite;
  }
  // The folder of the file for values offloaded to disk.
  const std::string& offload_folder() const {
    return offload_optimizer_nvme_path.empty() ? output_dir : offload_optimizer_nvme_path;
  }
  // The memory space that a value of --offload_*_device names: "none" (the device), "cpu" (the host) or "nvme" (the
  // disk).
  static Space home_of(const std::string& device) {
    if (device == "none") return Space::device;
    return device == "cpu" ? Space::host : Space::disk;
  }
  bool quantize_in_8bit() const { return load_in_8bit; }
};

}  // namespace hone
