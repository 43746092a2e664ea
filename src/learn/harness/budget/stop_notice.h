// Predicts whether a run can save a checkpoint in the time between SIGTERM and the end of the process (--stop_notice).
#pragma once

#include "learn/harness/budget/run_time.h"

namespace hone {

// The longest time from SIGTERM to a written checkpoint, as three parts.
struct StopTime {
  // Seconds of the work that a stop does not interrupt: the last micro-batch of a step and the update or, if a step is
  // one program, the whole step. 0: unknown.
  double finish_seconds = 0;
  // Additional seconds until the previous checkpoint is uploaded to a bucket; 0: checkpoints are not written in the
  // background.
  double wait_seconds = 0;
  double save_seconds = 0;       // seconds to write the checkpoint
  int64_t checkpoint_bytes = 0;  // size of the checkpoint
  bool whole_step = false;       // true: finish_seconds is the time of a whole step

  double seconds() const { return finish_seconds + wait_seconds + save_seconds; }
};
// Predicts the time. `save_seconds`: predicted seconds to write a checkpoint. `in_background`: true: checkpoints are
// written while training continues. Leaves checkpoint_bytes at 0.
StopTime stop_time(const StepTimes& times, double save_seconds, bool in_background);

// Logs the time: a line if it is at most the seconds of --stop_notice, else a warning with advice. Does nothing if
// --stop_notice is 0.
void report_stop_time(const TrainSettings& s, const StopTime& time);

// Measures the speed of writing to the folder, in bytes per second: writes a file of 8 MiB and deletes it. `folder`: a
// path or a URL. Errors: those of the store.
Result<double> measure_save_speed(const std::string& folder);

}  // namespace hone
