#include "run/commands/launch_ranks.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/core/error_report.h"
#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/ranks/world.h"
#include "operate/launch/errors.h"
#include "operate/launch/launch.h"
#include "operate/launch/restarts.h"
#include "operate/reporters/run_info.h"
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

int64_t number_in(const char* variable, int64_t otherwise) {
  const std::string text = environment(variable);
  int64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  return failed == std::errc() && end == text.data() + text.size() ? n : otherwise;
}

// The membership that starts. The launcher of ssh, and Slurm when it requeues a job, start this program
// again for a run that continues.
void take_membership(LaunchRequest& r) {
  r.run_id = environment("HONE_RUN_ID");
  const std::string job = environment("SLURM_JOB_ID");
  if (!r.serves && r.machine >= 0) {
    r.epoch = std::max<int64_t>(1, number_in("HONE_RANKS_EPOCH", 1));
    r.full_ranks = static_cast<int>(std::clamp<int64_t>(number_in("HONE_RANKS_FULL", 0), 0, 65536));
  } else if (!job.empty()) {
    r.epoch = 1 + std::max<int64_t>(0, number_in("SLURM_RESTART_COUNT", 0));
    if (r.run_id.empty())
      r.run_id = fmt::format("job{}-{:08x}", job, fnv1a(shell_line(r.command)) & 0xffffffff);
  } else if (r.max_restarts > 0 || meets_machines(r)) {
    r.run_id = new_run_id();
  }
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

}  // namespace

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

Result<int> launch_ranks(const LaunchSettings& s, const std::vector<std::string>& command) {
  LaunchRequest r{.command = {"hone"}, .program = "/proc/self/exe", .ranks = 0};
  r.command.insert(r.command.end(), command.begin(), command.end());
  HONE_TRY(place_ranks(s, r));
  const std::string token = environment(kTokenOfRanks);
  const RankLauncher launcher = HONE_TRY(chosen_launcher(s, r));
  if (!launcher.finds_machines) HONE_TRY(check_machines(s, token));
  if (s.min_ranks > r.ranks)
    return Error(err::kLaunchRequest,
                 fmt::format("{} ranks are started, and at least {} are to continue after a crash",
                             r.ranks, s.min_ranks))
        .at("--min_ranks")
        .todo("give a smaller number");
  if (r.ranks == 1 && r.hosts.empty() && s.max_restarts == 0) {
    if (!s.dry_run) return run_here(command);
    print_out("hone " + shell_line(command) + "\n");
    return kExitDone;
  }
  r.wants_gpus = wants_gpus(command);
  r.address = s.main_process_ip;
  r.port = static_cast<int>(s.main_process_port);
  r.serves = s.machine_rank == 0 && environment("HONE_RANKS_SERVED") != "1";
  r.max_restarts = static_cast<int>(s.max_restarts);
  r.min_ranks = static_cast<int>(s.min_ranks);
  take_membership(r);
  std::optional<RunMemory> memory;
  // A launcher outlives its ranks; those that ssh starts end with them.
  const bool outlives = r.machines == 1 || meets_machines(r);
  if (r.max_restarts > 0 && outlives && !launcher.finds_machines && !s.dry_run)
    r.memory = memory.emplace().path();
  r.token = token.empty() ? new_ranks_token() : token;
  r.words = s.launcher_args;
  r.ends_with_input = s.end_with_input;
  return run_ranks(launcher, r, s.dry_run);
}

}  // namespace hone
