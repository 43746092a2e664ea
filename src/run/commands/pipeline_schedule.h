// The command hone pipeline schedule, which runs a pipeline repeatedly: at given times, or when its data change.
#pragma once

#include <functional>
#include <string>

#include "base/core/error.h"

namespace hone {

struct PipelineSchedule {
  // Set exactly one of `cron` and `on`. cron: the times, in the form of crontab(5). on: the path of the data to watch.
  std::string cron, on;
  double every_s = 60;   // with `on`: the time between two checks of the data, in seconds
  int64_t max_runs = 0;  // largest number of runs; 0: no limit
  // With `on`: the file that stores a fingerprint of the data of the last run, so that a restart of the command does
  // not run the same data again.
  std::string seen_file;
};

// Calls run() repeatedly, until SIGINT or SIGTERM, at most max_runs times. With `cron`, calls it at the given times.
// With `on`, calls it when the data differ from the data of the last run and no longer change. If a run fails, the
// error is logged and the schedule continues. Returns the exit status: 128 + signal after a signal, else 0. Errors:
// H3169 `cron` cannot be parsed; those of the store if the first check of the data fails.
Result<int> follow_schedule(const PipelineSchedule& options,
                            const std::function<Result<int>()>& run);

}  // namespace hone
