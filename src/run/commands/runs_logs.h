// The command `hone runs logs`: prints the log lines of a run with their times.
#pragma once

#include <cstdint>
#include <string>

#include "base/core/error.h"

namespace hone {

struct RunLogsRequest {
  std::string run, folder;  // the arguments of found_run()
  bool follow = false;      // waits for more lines until the run ends
  int64_t tail = 0;         // prints only the last lines, this number of them; 0: all
};
// Prints the lines and returns the exit status. Errors: H3112 there is no such run, those of the store.
Result<int> print_run_logs(const RunLogsRequest& request);

}  // namespace hone
