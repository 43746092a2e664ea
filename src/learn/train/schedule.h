// The learning rate of each step, from the schedule that --lr_scheduler_type names (schedules/schedule_form.h).
#pragma once

#include "learn/train/schedules/schedule_form.h"

namespace hone {

// The schedule of this name; nullptr: there is none.
const ScheduleForm* find_schedule(const std::string& name);
std::vector<std::string> schedule_names();

class Schedule {
 public:
  // Errors: H2401 there is no schedule of this name, or one of its arguments is unknown, missing or wrong.
  static Result<Schedule> make(const ScheduleOptions& options);
  // The learning rate of the step that follows after `done` steps.
  double rate(int64_t done) const { return rate_(static_cast<double>(done)); }

 private:
  explicit Schedule(Rate rate) : rate_(std::move(rate)) {}

  Rate rate_;
};

// The number of warm-up steps, as in Transformers' TrainingArguments. `warmup_steps`: at least 1: a number of steps;
// above 0 and below 1: a share of all steps; 0: `warmup_ratio` is used, which is a share of all steps.
int64_t resolve_warmup(double warmup_steps, double warmup_ratio, int64_t total_steps);

}  // namespace hone
