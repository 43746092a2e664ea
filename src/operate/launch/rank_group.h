// Processes that are ranks, or start them: runs them together until all have ended.
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
  std::string name = {};   // "rank 1", which begins its lines; "": nothing does
  int rank = 0;            // its number, or the first of those that it starts
  std::string host = {};   // on which it runs
  std::string place = {};  // its part of that host, for people
  ChildSpec spec = {};
  bool has_prefix = true;  // false: our output is its output
  // It starts ranks elsewhere, as ssh does: they hear of a request to stop through the control plane, and
  // its own end follows from theirs. In place of SIGTERM its standard input ends.
  bool is_far = false;
  std::string input = {};  // for its standard input
};

struct GroupOptions {
  double follow_s = 5;  // in which the others end by themselves when one has failed; then SIGTERM
  double kill_s = 30;   // after that, until they are killed
  std::function<void(const RankFailure&)> report = {};  // hears of failures if there is no server
  bool ends_with_input = false;  // when our standard input ends, all get SIGTERM
  // Returns true when the ranks of all machines are to save and end, to start again with others.
  std::function<bool()> regroups = {};
  std::string root = {};  // put before /proc and /sys, for tests
};

// Starts all, each in a process group of its own that gets SIGTERM when this process ends; passes SIGTERM
// and SIGINT on to them; ends the others when one failed, and what is left of their groups. `server`,
// if there is one, hears of failures and has the first. Errors: H0004, then those that were started are
// ended. A failure has H3182 or H3183 if the process left no error of its own.
Result<LaunchEnd> run_group(std::vector<RankChild> children, ControlServer* server,
                            const GroupOptions& options = {}, Clock& clock = system_clock());

}  // namespace hone
