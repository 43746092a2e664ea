#include "run/commands/launch_ranks.h"

#include <algorithm>

#include "base/core/error_report.h"
#include "base/core/log.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/ranks/world.h"
#include "operate/launch/errors.h"
#include "operate/launch/launch.h"
#include "run/commands/command.h"
#include "run/commands/launch_places.h"

namespace hone {

namespace {

// Whether the flags name a GPU, or leave the choice to hone.
bool wants_gpus(const std::vector<std::string>& command) {
  bool wants = false;
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "--use_cpu" || word == "--no_cuda") return false;
    const std::string value = word == "--device" && i + 1 < command.size() ? command[i + 1]
                              : word.starts_with("--device=")              ? word.substr(9)
                                                                           : "";
    if (!value.empty()) wants = value != "cpu";
  }
  return wants;
}

Result<RankLauncher> chosen_launcher(const LaunchSettings& s, const LaunchRequest& r) {
  RankLauncher launcher = HONE_TRY(rank_launcher_named(!s.launcher.empty() ? s.launcher
                                                       : r.hosts.empty()   ? "local"
                                                                           : "ssh"));
  if (launcher.needs_hosts && r.hosts.empty())
    return Error(err::kLaunchRequest, fmt::format("the launcher {} needs hosts", launcher.name))
        .todo("name them in a hostfile: --hostfile FILE");
  if (!launcher.finds_machines && !r.hosts.empty())
    return Error(err::kLaunchRequest,
                 fmt::format("the launcher {} starts no ranks on other hosts", launcher.name))
        .todo("use --launcher ssh, or start a launcher on each host");
  return launcher;
}

// Runs inside this process.
Result<int> run_here(const std::vector<std::string>& command) {
  std::string name = command[0];
  std::replace(name.begin(), name.end(), '-', '_');
  return run_command_named(name, {command.begin() + 1, command.end()});
}

Result<int> run_ranks(const RankLauncher& launcher, const LaunchRequest& request, bool dry_run) {
  if (dry_run) {
    print_out(HONE_TRY(launcher.dry_run(request)));
    return kExitDone;
  }
  const LaunchEnd end = HONE_TRY(launcher.run(request));
  if (!end.failure) return end.status;
  report_error(end.failure->error);
  if (request.serves) log_error("{}", redact_text(end.failure->sentence()));
  return end.status;
}

}  // namespace

Result<int> launch_ranks(const LaunchSettings& s, const std::vector<std::string>& command) {
  LaunchRequest r{.command = {"hone"}, .program = "/proc/self/exe", .ranks = 0};
  r.command.insert(r.command.end(), command.begin(), command.end());
  HONE_TRY(place_ranks(s, r));
  const std::string token = environment(kTokenOfRanks);
  const RankLauncher launcher = HONE_TRY(chosen_launcher(s, r));
  if (!launcher.finds_machines) HONE_TRY(check_machines(s, token));
  if (r.ranks == 1 && r.hosts.empty()) {
    if (!s.dry_run) return run_here(command);
    print_out("hone " + shell_line(command) + "\n");
    return kExitDone;
  }
  r.wants_gpus = wants_gpus(command);
  r.address = s.main_process_ip;
  r.port = static_cast<int>(s.main_process_port);
  r.serves = s.machine_rank == 0 && environment("HONE_RANKS_SERVED") != "1";
  r.token = token.empty() ? new_ranks_token() : token;
  r.words = s.launcher_args;
  r.ends_with_input = s.end_with_input;
  return run_ranks(launcher, r, s.dry_run);
}

}  // namespace hone
