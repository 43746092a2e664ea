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
  // What was seen at `on` by the last run, so that the same command does not run it again.
  std::string seen_file;
};

// Until SIGINT or SIGTERM, or after max_runs. A run that fails is logged, and the next one is waited for; with
// `on` the same data is tried again when it has changed. Errors: H3169, those of the place at the first look.
Result<int> follow_schedule(const PipelineSchedule& options,
                            const std::function<Result<int>()>& run);

}  // namespace hone
