// Starts a command as the ranks of a run, and waits for their end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ranks/rank_status.h"
#include "operate/launch/hostfile.h"

namespace hone {

struct LaunchRequest {
  std::vector<std::string> command = {};  // of each rank; the first word is the program's name
  std::string program = {};               // file of the program; "": the name is searched in PATH
  int ranks = 1;                          // of the run
  int local_ranks = 1;                    // on this host, for launchers that start ranks here
  int first_rank = 0;                     // on this host
  std::vector<HostSlots> hosts = {};      // for launchers that start ranks on other hosts
  bool wants_gpus = false;                // the command names GPUs: each rank needs one
  // Place of the control plane. "": ranks of one host, or an address of this host.
  std::string address = {};
  int port = 0;        // 0: the kernel chooses one
  bool serves = true;  // false: another launcher serves it at `address`
  bool ends_with_input =
      false;               // the ranks end when standard input ends, as that of a lost ssh does
  std::string token = {};  // of the run; "": a new one if the launcher starts all ranks
  std::vector<std::string> words = {};  // further words for ssh, mpirun or srun

  // After a crash the ranks are started again, in a new membership, at most this number of times.
  int max_restarts = 0;
  int min_ranks = 0;        // the fewest without machines that are gone; 0: these are waited for
  int64_t epoch = 1;        // of the membership that starts
  int full_ranks = 0;       // of the whole run; 0: `ranks`
  std::string run_id = {};  // the same in all memberships: HONE_RUN_ID
  std::string memory = {};  // folder for copies of the run's state: HONE_RUN_MEMORY; "": none
  // Machines with a launcher each, and the number of this one; -1: in the order of arrival.
  int machines = 1, machine = 0;
  double settle_s = 45;   // in which machines come back after a crash; else they are gone
  double rejoin_s = 600;  // in which machines come that cannot be done without
};

// Whether the launchers of several machines agree on places before each membership.
inline bool meets_machines(const LaunchRequest& r) {
  return r.hosts.empty() && r.machines > 1 &&
         (r.max_restarts > 0 || r.min_ranks > 0 || r.machine < 0);
}

struct LaunchEnd {
  int status = 0;  // of the rank that failed first; 128 + signal after a request to stop
  std::optional<RankFailure> failure = {};
  bool regroups = false;  // the ranks saved and ended, to start again with those of more machines
};

// A way of starting ranks. Each file of this folder is one and defines `RankLauncher
// rank_launcher_<file>();` (a file x.h makes x.cc a helper).
struct RankLauncher {
  std::string name;             // in --launcher
  std::string about;            // for help
  bool needs_hosts = false;     // of a hostfile
  bool finds_machines = false;  // it knows the machines of the run, or starts ranks on them itself
  // Starts the ranks and waits for their end. SIGTERM and SIGINT are passed on to all
  // (base/core/signals.h). Errors: H3181, H3185, H0004, and those of ControlServer::open().
  Result<LaunchEnd> (*run)(const LaunchRequest& request) = nullptr;
  // The commands that it would start, one a line, with the variables of each. Errors: H3181.
  Result<std::string> (*dry_run)(const LaunchRequest& request) = nullptr;
};
std::vector<RankLauncher> all_rank_launcher();  // the shelf, by name of file
std::vector<std::string> rank_launcher_names();
// Error H3181: there is no launcher of this name.
Result<RankLauncher> rank_launcher_named(const std::string& name);

}  // namespace hone
