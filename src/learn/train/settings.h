// The settings of every training task as a plain struct.
#pragma once

#include "base/settings/settings.h"
#include "engine/backends/backends.h"

namespace hone {

// What the shelves of optimizers and schedules offer (optimizer_choice.cc, schedule.cc).
std::vector<std::string> optimizer_names();
std::string optimizer_arguments();  // "sgd: momentum, dampening; ..." of those that have some
std::vector<std::string> schedule_names();

struct TrainSettings {
#define HONE_SETTINGS "learn/train/settings.def"
#include "base/settings/fields.inc"

  bool shuffles() const { return shuffle && train_sampling_strategy == "random"; }
  bool reports() const { return report_to != std::vector<std::string>{"none"}; }
};

}  // namespace hone
