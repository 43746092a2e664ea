// Runs a group of processes until all have ended. Each process is a rank, or starts ranks on other hosts, as ssh does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/core/child.h"
#include "base/core/clock.h"
#include "base/ranks/control_server.h"
#include "operate/launch/launch.h"

namespace hone {

struct RankChild {
  std::string name = {};   // prefix of its output lines: "rank 1"; "": the lines get no prefix
  int rank = 0;            // number of its rank, or of the first rank that it starts
  std::string host = {};   // host on which its ranks run
  std::string place = {};  // its processors, threads and GPU, for people
  ChildSpec spec = {};
  bool has_prefix = true;  // false: it writes to this process's standard output and error directly
  // True: the process starts ranks on other hosts, as ssh does. Then the ranks get a request to stop through the
  // control plane, and the process ends after its ranks. It never gets SIGTERM: its standard input is closed instead.
  bool is_far = false;
  std::string input = {};  // bytes to write to its standard input; "": no input
};

struct GroupOptions {
  // Seconds that the other processes have to end after a failure; then they get SIGTERM.
  double follow_s = 5;
  double kill_s = 30;  // seconds from that SIGTERM to SIGKILL
  // Called with each failure if run_group() has no `server`. Null: not called.
  std::function<void(const RankFailure&)> report = {};
  bool ends_with_input = false;  // send SIGTERM to all when this process's standard input ends
  // Polled while the ranks run. Returns true when all ranks must save and end, to start again together with new
  // machines. Null: never.
  std::function<bool()> regroups = {};
  std::string root = {};  // put before /proc and /sys, for tests
};

// Starts the processes, each in a process group of its own, and waits until all have ended. They get SIGTERM if this
// process ends before them. SIGTERM and SIGINT to this process are passed on to them. After one has failed, the others
// are ended. When a process has ended, the rest of its process group is killed. `server`, unless null, receives each
// failure and decides which was the first. In LaunchEnd::failure, a process that reported no error of its own has
// H3182, or H3183 if it was killed because memory ran out. Error H0004: a process cannot be started; the started ones
// are then killed.
Result<LaunchEnd> run_group(std::vector<RankChild> children, ControlServer* server,
                            const GroupOptions& options = {}, Clock& clock = system_clock());

}  // namespace hone
