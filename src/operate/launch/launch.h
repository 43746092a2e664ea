// Starts a command as the ranks of a run, and waits until they have ended. A rank is one process of a distributed run.
// A membership is one start of all ranks together: after a crash the ranks start again in a new membership, which has
// the next epoch. The control plane is a TCP server at which the ranks register and report failures
// (base/ranks/control_server.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ranks/rank_status.h"
#include "operate/launch/hostfile.h"

namespace hone {

struct LaunchRequest {
  // The command of each rank; its first word is the program's name.
  std::vector<std::string> command = {};
  std::string program = {};           // path of the program; "": the name is searched in PATH
  int ranks = 1;                      // number of ranks of the run
  int local_ranks = 1;                // ranks on this host, for launchers that start ranks here
  int first_rank = 0;                 // number of the first rank on this host
  std::vector<HostSlots> hosts = {};  // for launchers that start ranks on other hosts
  bool wants_gpus = false;            // each rank needs a GPU, because the command names GPUs
  // Address of the control plane. "": the launcher chooses an address of this host.
  std::string address = {};
  int port = 0;  // port of the control plane; 0: the kernel chooses one
  // True: this launcher serves the control plane; false: another one does, at `address`.
  bool serves = true;
  // True: the ranks are ended when standard input ends, as it does when an ssh connection is lost.
  bool ends_with_input = false;
  // The secret that ranks send to the control plane. "": a new one, if this launcher starts all ranks.
  std::string token = {};
  std::vector<std::string> words = {};  // further command-line words for ssh, mpirun or srun

  // After a crash the ranks are started again, in a new membership, at most this number of times.
  int max_restarts = 0;
  // Continue without lost machines if at least this number of ranks is left; 0: wait for all machines.
  int min_ranks = 0;
  int64_t epoch = 1;        // number of the membership to start
  int full_ranks = 0;       // ranks of the run with all machines; 0: `ranks`
  std::string run_id = {};  // id of the run in all memberships, passed on as HONE_RUN_ID
  // Folder for copies of the run's state, passed on as HONE_RUN_MEMORY; "": none.
  std::string memory = {};
  // The number of machines, each with a launcher of its own; and the number of this machine from 0. A `machine` of -1:
  // the machines are numbered in the order of arrival.
  int machines = 1, machine = 0;
  // Seconds to wait for all machines after a crash, if at least `min_ranks` ranks are there.
  double settle_s = 45;
  double rejoin_s = 600;  // seconds to wait for machines that the run cannot continue without
};

// Whether launchers of several machines agree on the places of their ranks before each membership (machines.h).
inline bool meets_machines(const LaunchRequest& r) {
  return r.hosts.empty() && r.machines > 1 &&
         (r.max_restarts > 0 || r.min_ranks > 0 || r.machine < 0);
}

struct LaunchEnd {
  // Exit status of the rank that failed first; 128 + signal after a request to stop; 0: success.
  int status = 0;
  std::optional<RankFailure> failure = {};  // the first failure; nullopt: none
  // The ranks saved a checkpoint and ended, to start again with new machines.
  bool regroups = false;
};

// A way of starting ranks. Each .cc file of this folder without a header of the same name is one, and defines
// `RankLauncher rank_launcher_<file>();`.
struct RankLauncher {
  std::string name;             // value of --launcher
  std::string about;            // one line for help
  bool needs_hosts = false;     // needs the hosts of a hostfile
  bool finds_machines = false;  // knows the machines of the run, or starts ranks on them itself
  // Starts the ranks and waits until they have ended. Passes SIGTERM and SIGINT on to all ranks
  // (base/core/signals.h). Errors: H3181 the request cannot be met; H3185 a host cannot take ranks; H0004 a process
  // cannot be started; those of ControlServer::open().
  Result<LaunchEnd> (*run)(const LaunchRequest& request) = nullptr;
  // The commands that run() would start, one a line, each after its environment variables. Error H3181: the request
  // cannot be met.
  Result<std::string> (*dry_run)(const LaunchRequest& request) = nullptr;
};
std::vector<RankLauncher> all_rank_launcher();  // all launchers, sorted by the names of their files
std::vector<std::string> rank_launcher_names();
// Error H3181: there is no launcher of this name.
Result<RankLauncher> rank_launcher_named(const std::string& name);

}  // namespace hone
