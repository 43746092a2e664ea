// A learning-rate schedule that --lr_scheduler_type names. Each is one file of this shelf:
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
  std::string type = "linear";
  double learning_rate = 5e-5;  // the peak
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;
  // --lr_scheduler_kwargs: num_cycles, power, lr_end, min_lr, ...
  nlohmann::json more = nlohmann::json::object();

  double warmup() const { return static_cast<double>(warmup_steps); }
  double total() const { return static_cast<double>(total_steps); }
};

// The learning rate of the step after `done` steps.
using Rate = std::function<double(double done)>;

struct ScheduleArgument {
  std::string name;
  std::vector<std::string> words = {};  // the value is one of them; empty: a number
};

struct ScheduleForm {
  std::string name;  // value of --lr_scheduler_type
  std::vector<ScheduleArgument> arguments = {};
  // Called with known arguments of the right types. H2401: one is missing, or they contradict each
  // other.
  Result<Rate> (*make)(const ScheduleOptions& o) = nullptr;
  bool warms_up = true;              // --warmup_steps has an effect
  bool follows_evaluations = false;  // the rate is that of a Plateau (learn/train/plateau.h)
  std::string deepspeed = "";  // scheduler.type of DeepSpeed's configurations; "": it has none
};

std::vector<ScheduleForm> all_schedule();  // generated from the folder

// From 0 to the peak in equal steps, then `rate`.
inline Rate after_warmup(const ScheduleOptions& o, Rate rate) {
  return [lr = o.learning_rate, warmup = o.warmup(), rate = std::move(rate)](double step) {
    return step < warmup ? lr * (step / std::max(1.0, warmup)) : rate(step);
  };
}

// The share of the steps after the warm-up that is done.
inline double progress_of(const ScheduleOptions& o, double step) {
  return (step - o.warmup()) / std::max(1.0, o.total() - o.warmup());
}

}  // namespace hone
