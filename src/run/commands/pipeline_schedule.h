// hone pipeline schedule: the same run again at times, or when data arrive.
#pragma once

#include <functional>
#include <string>

#include "base/core/error.h"

namespace hone {

struct PipelineSchedule {
  std::string cron, on;  // one of the two
  double every_s = 60;
  int64_t max_runs = 0;  // 0: no end
  // File with the data that the last run saw at `on`, so that the same command does not run them
  // again.
  std::string seen_file;
};

// Runs until SIGINT or SIGTERM, or for max_runs runs. A failed run is logged, and the schedule
// continues; with `on` it runs again once the data have changed. Errors: H3169, those of the place
// at the first look.
Result<int> follow_schedule(const PipelineSchedule& options,
                            const std::function<Result<int>()>& run);

}  // namespace hone
