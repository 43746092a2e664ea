// Ranks started by Slurm: by srun inside of a job, else by a job that is submitted.
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/ranks/world.h"
#include "operate/launch/errors.h"
#include "operate/launch/local_ranks.h"
#include "operate/launch/remote.h"
#include "operate/launch/restarts.h"
#include "operate/launch/serve_ranks.h"

namespace hone {
namespace {

constexpr int kNoticeSeconds = 120;  // before the end of the job's time, in which ranks save

bool is_in_job() { return !environment("SLURM_JOB_ID").empty(); }

RankChild srun_child(const LaunchRequest& r, const std::string& address, int port) {
  RankChild child{.name = "srun"};
  child.spec.environment = control_variables(r, address, port);
  child.spec.environment[kTokenOfRanks] = r.token;
  child.spec.command = {"srun", fmt::format("--ntasks={}", r.ranks), "--kill-on-bad-exit=0",
                        "--cpu-bind=none"};
  if (r.ranks > r.local_ranks)
    child.spec.command.push_back(fmt::format("--ntasks-per-node={}", r.local_ranks));
  child.spec.command.insert(child.spec.command.end(), r.words.begin(), r.words.end());
  child.spec.command.push_back(own_program());
  child.spec.command.insert(child.spec.command.end(), r.command.begin() + 1, r.command.end());
  child.has_prefix = false;
  child.is_far = true;
  return child;
}

// The job that starts this launcher again, inside of it. Slurm sends its signal to the launcher alone,
// which passes it on to all ranks; a job that is requeued starts the command again.
std::string job_script(const LaunchRequest& r) {
  std::string script = "#!/bin/bash\n#SBATCH --job-name=hone\n#SBATCH --requeue\n";
  script += fmt::format("#SBATCH --ntasks={}\n", r.ranks);
  if (r.ranks > r.local_ranks)
    script += fmt::format("#SBATCH --ntasks-per-node={}\n", r.local_ranks);
  if (r.wants_gpus) script += "#SBATCH --gpus-per-task=1\n";
  script += fmt::format("#SBATCH --signal=B:TERM@{}\n", kNoticeSeconds);
  for (const std::string& word : r.words) script += fmt::format("#SBATCH {}\n", word);
  std::vector<std::string> words = {own_program(),
                                    "launch",
                                    "--launcher",
                                    "slurm",
                                    "--num_processes",
                                    std::to_string(r.ranks),
                                    "--processes_per_machine",
                                    std::to_string(r.local_ranks)};
  if (r.max_restarts > 0)
    words.insert(words.end(), {"--max_restarts", std::to_string(r.max_restarts)});
  words.push_back("--");
  words.insert(words.end(), r.command.begin() + 1, r.command.end());
  return script + "exec " + shell_line(words) + "\n";
}

Result<LaunchEnd> submit(const LaunchRequest& r) {
  const CommandOutput out = HONE_TRY(
      run_command({"sbatch", "--parsable"}, {.input = job_script(r), .timeout_seconds = 60}));
  if (out.status != 0)
    return Error(err::kLaunchRequest, "Slurm did not take the job: " + std::string(trim(out.err)))
        .todo("print the script with --dry_run, and read the message of sbatch");
  log_info("job {}: squeue --job {} shows its state, slurm-{}.out has its lines", trim(out.out),
           trim(out.out), trim(out.out));
  return LaunchEnd{};
}

// Slurm signals a job that it preempts, and queues it again after a grace period. A job that saves and ends in that
// time counts as failed, so it queues itself.
void queue_again_if_preempted() {
  const std::string job = environment("SLURM_JOB_ID");
  const auto shown = run_command({"scontrol", "show", "job", "-o", job}, {.timeout_seconds = 30});
  constexpr std::string_view kKey = " PreemptTime=";
  const size_t at = shown.ok() ? shown->out.find(kKey) : std::string::npos;
  if (at == std::string::npos || shown->out.compare(at + kKey.size(), 4, "None") == 0) return;
  log_info("job {} was preempted: it is queued again", job);
  const auto queued = run_command({"scontrol", "requeue", job}, {.timeout_seconds = 30});
  if (!queued.ok() || queued->status != 0)
    log_warning("Slurm does not queue job {} again: {}", job,
                queued.ok() ? trim(queued->err) : queued.error().what());
}

Result<LaunchEnd> run_slurm(const LaunchRequest& r) {
  if (!is_in_job()) return submit(r);
  const auto server = HONE_TRY(serve_ranks(r, true));
  const std::string address = r.address.empty() ? host_name() : r.address;
  install_stop_handlers();
  const auto srun = [&](const LaunchRequest& now) -> Result<std::vector<RankChild>> {
    std::vector<RankChild> children;
    children.push_back(srun_child(now, address, server->port()));
    return children;
  };
  LaunchEnd end = HONE_TRY(run_restarts(r, *server, {.children = srun}));
  if (end.status != 0) queue_again_if_preempted();
  return end;
}

Result<std::string> show_slurm(const LaunchRequest& r) {
  if (!is_in_job()) return job_script(r);
  return command_text(srun_child(r, r.address.empty() ? host_name() : r.address, r.port)) + "\n";
}

}  // namespace

RankLauncher rank_launcher_slurm() {
  return {.name = "slurm",
          .about =
              "srun inside of a Slurm job; outside, a job that is "
              "submitted by sbatch",
          .finds_machines = true,
          .run = run_slurm,
          .dry_run = show_slurm};
}

}  // namespace hone
