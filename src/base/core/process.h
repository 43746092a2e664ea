// What this process asks of the system: other programs, signals, memory readings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

bool is_terminal(int fd);

// --- other programs -----------------------------------------------------------------------
struct CommandOptions {
  std::string input = {};      // its standard input
  std::string folder = {};     // its working folder; "" = ours
  double timeout_seconds = 0;  // 0 = none; when it passes the program is killed
  std::map<std::string, std::string> environment = {};  // added to ours
};
struct CommandOutput {
  int status = 0;  // exit status, or 128 + signal
  bool timed_out = false;
  std::string out, err;
};
// Runs argv[0] (searched in PATH) and waits. Error H0004 when it cannot be started.
Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                  const CommandOptions& options = {});

// --- signals --------------------------------------------------------------------------------
// After this, SIGINT and SIGTERM set a flag that long work asks for with stop_requested(); a
// second SIGINT ends the program at once with status 130. SIGPIPE is ignored.
void install_stop_handlers();
bool stop_requested();
int stop_signal();              // 0, SIGINT or SIGTERM
void request_stop(int signal);  // as if it had come; 0 takes the request back (tests)

// --- memory ---------------------------------------------------------------------------------
struct MemoryReading {
  int64_t rss_anon_bytes = 0;  // of this process
  int64_t rss_shmem_bytes = 0;
  int64_t rss_file_bytes = 0;
  int64_t rss_peak_bytes = 0;  // VmHWM
  int64_t total_bytes = 0;     // of the machine
  int64_t available_bytes = 0;
  std::optional<int64_t> limit_bytes;  // of the innermost control group that sets one
  // What this process may hold: the smaller of machine and control group.
  int64_t usable_bytes() const;
};
MemoryReading read_memory();

}  // namespace hone
