// Whether a run can save a checkpoint between SIGTERM and its end (--stop_notice).
#pragma once

#include "learn/harness/budget/run_time.h"

namespace hone {

// The longest time from SIGTERM to a written checkpoint.
struct StopTime {
  // Work that a stop does not interrupt: with accumulation the last micro-batch of a step and the
  // update, else the whole step. 0: unknown.
  double finish_seconds = 0;
  double wait_seconds = 0;  // more, until the previous checkpoint is written (into a bucket)
  double save_seconds = 0;
  int64_t checkpoint_bytes = 0;
  bool whole_step = false;  // finish_seconds counts a whole step

  double seconds() const { return finish_seconds + wait_seconds + save_seconds; }
};
// `in_background`: checkpoints are written while training continues.
StopTime stop_time(const StepTimes& times, double save_seconds, bool in_background);

// With --stop_notice: logs a line if the time is enough, else a warning with advice.
void report_stop_time(const TrainSettings& s, const StopTime& time);

// Bytes a second that the folder's store takes: writes 8 MiB there and deletes them. Errors: the
// store's.
Result<double> measure_save_speed(const std::string& folder);

}  // namespace hone
