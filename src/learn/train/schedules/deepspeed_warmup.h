// The warm-up of DeepSpeed's learning-rate schedules. Formulas:
// https://deepspeed.readthedocs.io/en/latest/schedulers.html
#pragma once

#include "learn/train/schedules/schedule_form.h"

namespace hone {

// DeepSpeed's position in its schedule is 0 after the first step and increases by 1 with each later step. So the first
// two steps both have the first learning rate of the schedule. The warm-up takes at least two steps.
struct DeepSpeedWarmup {
  explicit DeepSpeedWarmup(const ScheduleOptions& o)
      : steps(std::max(2.0, o.warmup())), is_log(o.more.value("warmup_type", "log") == "log") {}

  // DeepSpeed's position for the step that follows after `done` steps; below 0: the schedule has not started.
  static double at(double done) { return done - 1; }
  // The share of the warm-up that is done at a position from 0 to `steps`: log(at + 1) / log(steps) for the type "log",
  // at / steps for the type "linear".
  double share(double at) const { return is_log ? std::log(at + 1) / std::log(steps) : at / steps; }

  double steps;  // number of steps of the warm-up
  bool is_log;   // true: the type "log"; false: the type "linear"
};

inline ScheduleArgument deepspeed_warmup_type() { return {"warmup_type", {"log", "linear"}}; }

// The number of steps of the schedule: the argument total_num_steps or, if it is not given, the steps of the run.
inline double deepspeed_total(const ScheduleOptions& o) {
  return o.more.value("total_num_steps", o.total());
}

}  // namespace hone
