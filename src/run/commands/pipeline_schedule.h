// The command hone pipeline schedule, which runs a pipeline repeatedly: at given times, or when its data change.
#pragma once

#include <functional>
#include <string>

#include "base/core/error.h"

namespace hone {

struct PipelineSchedule {
  // Set one of the two. cron: the times, in the form of cron(5). on: the path of the data to watch.
  std::string cron, on;
  double every_s = 60;   // with `on`: the time between two looks at the data, in seconds
  int64_t max_runs = 0;  // 0: no limit
  // With `on`: the file that stores a fingerprint of the data of the last run, so that a restart of the command does
  // not run the same data again.
  std::string seen_file;
};

// Calls run() at each time, until SIGINT or SIGTERM, or max_runs times. With `on`, calls it when the data differ from
// those of the last run and no longer change. If a run fails, the error is logged and the schedule continues. Returns
// the exit status: 128 + signal after a signal, else 0. Errors: H3169 `cron` cannot be read; those of the store if the
// first look at the data fails.
Result<int> follow_schedule(const PipelineSchedule& options,
                            const std::function<Result<int>()>& run);

}  // namespace hone
