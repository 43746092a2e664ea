// hone runs logs: the lines that a run printed, with their times.
#pragma once

#include <cstdint>
#include <string>

#include "base/core/error.h"

namespace hone {

struct RunLogsRequest {
  std::string run, folder;  // as of found_run()
  bool follow = false;      // waits for more lines until the run ends
  int64_t tail = 0;         // this number of lines, from the end; 0: all
};
// Errors: H3112, those of the store.
Result<int> print_run_logs(const RunLogsRequest& request);

}  // namespace hone
