// The learning rate of each step, by a schedule of the shelf (schedules/schedule_form.h).
#pragma once

#include "learn/train/schedules/schedule_form.h"

namespace hone {

// nullptr: no schedule has that name.
const ScheduleForm* find_schedule(const std::string& name);
std::vector<std::string> schedule_names();

class Schedule {
 public:
  // Errors: H2401 an argument that the schedule does not take or lacks.
  static Result<Schedule> make(const ScheduleOptions& options);
  // The rate of the step after `done` steps.
  double rate(int64_t done) const { return rate_(static_cast<double>(done)); }

 private:
  explicit Schedule(Rate rate) : rate_(std::move(rate)) {}

  Rate rate_;
};

// warmup_steps of TrainingArguments: a number of steps from 1 on, a share below; warmup_ratio is
// the older spelling of the share.
int64_t resolve_warmup(double warmup_steps, double warmup_ratio, int64_t total_steps);

}  // namespace hone
