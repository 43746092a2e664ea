// The settings of every training task as a plain struct.
#pragma once

#include "base/settings/settings.h"
#include "engine/backends/backends.h"
#include "engine/graph/place.h"

namespace hone {

// What the shelves of optimizers and schedules offer (optimizer_choice.cc, schedule.cc).
std::vector<std::string> optimizer_names();
std::string optimizer_arguments();  // "sgd: momentum, dampening; ..." of those that have some
std::vector<std::string> schedule_names();

struct TrainSettings {
  TrainSettings();
  TrainSettings(const TrainSettings&);
  TrainSettings& operator=(const TrainSettings&);
  ~TrainSettings();
#define HONE_SETTINGS "learn/train/settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"

  bool shuffles() const { return shuffle && train_sampling_strategy == "random"; }
  // Where the optimizer's states are, and the folder of their file if that is the disk.
  Space optimizer_home() const {
    if (offload_optimizer_device == "none") return Space::device;
    return offload_optimizer_device == "cpu" ? Space::host : Space::disk;
  }
  const std::string& offload_folder() const {
    return offload_optimizer_nvme_path.empty() ? output_dir : offload_optimizer_nvme_path;
  }
  bool reports() const { return report_to != std::vector<std::string>{"none"}; }
};

}  // namespace hone
