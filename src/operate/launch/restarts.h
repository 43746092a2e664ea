// Starts the ranks of a run again after a crash, in a new membership (launch.h) with the machines that are there.
#pragma once

#include <functional>
#include <vector>

#include "operate/launch/rank_group.h"

namespace hone {

struct RestartPlan {
  // Finds the machines of the next membership, and changes `ranks` and `hosts` of the request. Called before each
  // membership except the first. Null: the machines stay the same.
  std::function<Status(LaunchRequest& request)> gather = {};
  bool first_too = false;  // call `gather` before the first membership too
  // Called when the control plane serves the membership, before its ranks start on this machine.
  std::function<void(const LaunchRequest& request)> begun = {};
  // Returns the processes to start on this machine. Must be set.
  std::function<Result<std::vector<RankChild>>(const LaunchRequest& request)> children = {};
  // Called when all ranks of this machine have ended; changes `end` to the end of the ranks of all machines.
  std::function<void(LaunchEnd& end)> ended = {};
  GroupOptions group = {};
};

// Runs the ranks until they end, and starts all of them again after a crash (is_crash()), at most
// `request.max_restarts` times. They do not start again after a user's mistake or a request to stop. While no new
// training step is done, the pauses between restarts grow from 0.5 to 60 s. `server` serves the control plane. Errors:
// those of the functions of the plan and of run_group().
Result<LaunchEnd> run_restarts(LaunchRequest request, ControlServer& server,
                               const RestartPlan& plan, Clock& clock = system_clock());

// Whether a new start of the same ranks may succeed: a rank was killed, or ended by a bug or a transient error.
bool is_crash(const LaunchEnd& end);

// A folder in the memory of this machine (/dev/shm). It is removed with its content when the object is destroyed, or by
// the next launcher if this process is killed.
class RunMemory {
 public:
  // Creates the folder below `parent`. If that fails, logs a warning, and path() is "".
  explicit RunMemory(const std::string& parent = "/dev/shm");
  ~RunMemory();
  RunMemory(const RunMemory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hone
