// Learning-rate schedules, by the formulas of Transformers' optimization.py.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/core/error.h"

namespace hone {

struct ScheduleOptions {
  std::string type = "linear";
  double learning_rate = 5e-5;  // the peak
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;
  nlohmann::json more =
      nlohmann::json::object();  // lr_scheduler_kwargs: num_cycles, power, lr_end, min_lr, ...
};

class Schedule {
 public:
  // Errors: H2401 an argument that the schedule does not take or lacks.
  static Result<Schedule> make(ScheduleOptions options);
  // The rate of the step after `done` steps.
  double rate(int64_t done) const;

 private:
  ScheduleOptions o_;
  // Arguments of `more`, or their defaults.
  double cycles_ = 0.5, power_ = 1, end_ = 1e-7, timescale_ = 10000, least_ = 0, stable_ = 0,
         decay_ = 0;
  std::string warmup_type_, decay_type_;
};

// warmup_steps of TrainingArguments: >= 1 a number of steps, below a share; warmup_ratio is the
// older spelling of the share.
int64_t resolve_warmup(double warmup_steps, double warmup_ratio, int64_t total_steps);

}  // namespace hone
