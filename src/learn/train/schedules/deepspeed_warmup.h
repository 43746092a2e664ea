// The warm-up of DeepSpeed's schedules. Formulas:
// https://deepspeed.readthedocs.io/en/latest/schedulers.html
#pragma once

#include "learn/train/schedules/schedule_form.h"

namespace hone {

// DeepSpeed moves its schedule after a step, and its first move is to 0: the first two steps are
// both at the beginning. The warm-up takes two steps at least.
struct DeepSpeedWarmup {
  explicit DeepSpeedWarmup(const ScheduleOptions& o)
      : steps(std::max(2.0, o.warmup())), is_log(o.more.value("warmup_type", "log") == "log") {}

  // The schedule's counter for the step after `done` steps; < 0: it has not started.
  static double at(double done) { return done - 1; }
  // 0 to 1 where at < steps: log(at + 1) / log(steps), or at / steps.
  double share(double at) const { return is_log ? std::log(at + 1) / std::log(steps) : at / steps; }

  double steps;
  bool is_log;
};

inline ScheduleArgument deepspeed_warmup_type() { return {"warmup_type", {"log", "linear"}}; }

// Steps until the end: the argument total_num_steps, or those of the run.
inline double deepspeed_total(const ScheduleOptions& o) {
  return o.more.value("total_num_steps", o.total());
}

}  // namespace hone
