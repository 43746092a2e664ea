// Ranks started by Open MPI's mpirun, which numbers them.
#include <unistd.h>

#include <algorithm>

#include "base/core/process.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/core/threads.h"
#include "base/ranks/world.h"
#include "operate/launch/local_ranks.h"
#include "operate/launch/remote.h"
#include "operate/launch/restarts.h"
#include "operate/launch/serve_ranks.h"

namespace hone {
namespace {

// The variables are in the environment of mpirun, which passes those on that -x names.
RankChild mpirun_child(const LaunchRequest& r, const std::string& address, int port) {
  RankChild child{.name = "mpirun"};
  child.spec.environment = control_variables(r, address, port);
  child.spec.environment[kTokenOfRanks] = r.token;
  std::vector<std::string>& words = child.spec.command;
  words = {"mpirun", "-np", std::to_string(r.ranks)};
  if (!r.hosts.empty()) words.insert(words.end(), {"-H", host_list(r.hosts)});
  // mpirun binds a rank to one core, whatever the number of its threads.
  words.insert(words.end(), {"--bind-to", "none"});
  if (::geteuid() == 0) words.push_back("--allow-run-as-root");
  if (environment("OMP_NUM_THREADS").empty()) {
    const int here = r.ranks / std::max<int>(1, static_cast<int>(r.hosts.size()));
    child.spec.environment["OMP_NUM_THREADS"] =
        std::to_string(std::max(1, usable_cores() / std::max(1, here)));
  }
  for (const auto& [name, value] : child.spec.environment) words.insert(words.end(), {"-x", name});
  words.insert(words.end(), r.words.begin(), r.words.end());
  words.push_back(own_program());
  words.insert(words.end(), r.command.begin() + 1, r.command.end());
  child.has_prefix = false;
  child.is_far = true;
  return child;
}

Result<std::string> meeting_address(const LaunchRequest& r) {
  if (!r.address.empty()) return r.address;
  return r.hosts.empty() ? Result<std::string>("127.0.0.1") : address_towards(r.hosts[0].host);
}

Result<LaunchEnd> run_mpirun(const LaunchRequest& r) {
  const std::string address = HONE_TRY(meeting_address(r));
  const auto server = HONE_TRY(serve_ranks(r, !r.hosts.empty()));
  install_stop_handlers();
  return run_restarts(r, *server,
                      {.children = [&](const LaunchRequest& now) -> Result<std::vector<RankChild>> {
                        std::vector<RankChild> children;
                        children.push_back(mpirun_child(now, address, server->port()));
                        return children;
                      }});
}

Result<std::string> show_mpirun(const LaunchRequest& r) {
  const std::string address = HONE_TRY(meeting_address(r));
  return command_text(mpirun_child(r, address, r.port)) + "\n";
}

}  // namespace

RankLauncher rank_launcher_mpirun() {
  return {.name = "mpirun",
          .about = "Open MPI's mpirun, on this host or those of the hostfile",
          .finds_machines = true,
          .run = run_mpirun,
          .dry_run = show_mpirun};
}

}  // namespace hone
