// Starts the ranks of a run again after a crash: in a new membership, with those machines that are there.
#pragma once

#include <functional>
#include <vector>

#include "operate/launch/rank_group.h"

namespace hone {

struct RestartPlan {
  // Finds the machines of the next membership: changes the ranks and hosts of the request. Null: they
  // stay as they are. Called before each membership with `first_too`, else after a crash.
  std::function<Status(LaunchRequest& request)> gather = {};
  bool first_too = false;
  // Called when the control plane serves the membership, before its ranks start here.
  std::function<void(const LaunchRequest& request)> begun = {};
  std::function<Result<std::vector<RankChild>>(const LaunchRequest& request)> children = {};
  // Called when all ranks of this machine have ended; changes their end to that of all machines.
  std::function<void(LaunchEnd& end)> ended = {};
  GroupOptions group = {};
};

// Runs the ranks, and starts all again after a crash: a rank was killed, or ended by a fault that may
// not come again. A user's mistake is not repeated, and neither is a run that was asked to stop. Pauses
// between restarts grow while no new step is done. `server` serves the control plane. Errors: those of
// the plan and of run_group().
Result<LaunchEnd> run_restarts(LaunchRequest request, ControlServer& server,
                               const RestartPlan& plan, Clock& clock = system_clock());

// Whether the same ranks may do better.
bool is_crash(const LaunchEnd& end);

// A folder in the memory of this machine, removed with its content when this object is destroyed, and
// by the next launcher if this process is killed.
class RunMemory {
 public:
  // "" as a path: this machine has no such place, which is logged.
  explicit RunMemory(const std::string& parent = "/dev/shm");
  ~RunMemory();
  RunMemory(const RunMemory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hone
