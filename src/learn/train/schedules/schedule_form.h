// The description of a learning-rate schedule, which --lr_scheduler_type chooses by name. To add one, add a file to
// this folder, such as linear.cc:
//
//   ScheduleForm schedule_linear() {
//     return {.name = "linear", .make = [](const ScheduleOptions& o) -> Result<Rate> {
//               return after_warmup(o, [=](double step) { return ...; });
//             }};
//   }
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

struct ScheduleOptions {
  std::string type = "linear";  // name of the schedule
  double learning_rate = 5e-5;  // the largest rate, reached at the end of the warm-up
  int64_t warmup_steps = 0;     // steps of the warm-up
  int64_t total_steps = 0;      // steps of the run, including the warm-up
  // The arguments from --lr_scheduler_kwargs: num_cycles, power, lr_end, min_lr, ...
  nlohmann::json more = nlohmann::json::object();

  double warmup() const { return static_cast<double>(warmup_steps); }
  double total() const { return static_cast<double>(total_steps); }
};

// Returns the learning rate of the step that follows after `done` steps.
using Rate = std::function<double(double done)>;

struct ScheduleArgument {
  std::string name;
  std::vector<std::string> words = {};  // the allowed values; empty: the value is a number
};

struct ScheduleForm {
  std::string name;  // value of --lr_scheduler_type
  std::vector<ScheduleArgument> arguments = {};
  // Makes the schedule. The caller has checked o.more: names are known, and values have the right types. Errors: H2401
  // an argument is missing, or arguments contradict each other.
  Result<Rate> (*make)(const ScheduleOptions& o) = nullptr;
  bool warms_up = true;              // true: --warmup_steps has an effect
  bool follows_evaluations = false;  // true: the rate comes from Plateau (learn/train/plateau.h)
  std::string deepspeed = "";        // its scheduler.type in DeepSpeed's configurations; "": none
};

std::vector<ScheduleForm> all_schedule();  // all schedules; generated from the files of this folder

// Returns a rate that grows linearly from 0 to o.learning_rate during the warm-up, and equals `rate` afterwards.
inline Rate after_warmup(const ScheduleOptions& o, Rate rate) {
  return [lr = o.learning_rate, warmup = o.warmup(), rate = std::move(rate)](double step) {
    return step < warmup ? lr * (step / std::max(1.0, warmup)) : rate(step);
  };
}

// The share of the steps after the warm-up that is done, from 0 to 1. `step`: number of steps done, at least those of
// the warm-up.
inline double progress_of(const ScheduleOptions& o, double step) {
  return (step - o.warmup()) / std::max(1.0, o.total() - o.warmup());
}

}  // namespace hone
