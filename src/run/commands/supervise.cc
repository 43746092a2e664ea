#include "run/commands/supervise.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "base/core/child.h"
#include "base/core/clock.h"
#include "base/core/error_report.h"
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "operate/reporters/run_info.h"
#include "run/commands/command.h"

namespace hone {
namespace {

constexpr const char* kSupervisorVariable = "HONE_SUPERVISOR";  // its process number
constexpr double kFirstPause = 1, kLongestPause = 60;

struct TrainEnd {
  ChildEnd process;
  std::optional<Error> error;  // that ended it
};

Result<TrainEnd> run_child(const std::vector<std::string>& args) {
  // If its supervisor ends, it saves and ends. Ctrl-C comes through the supervisor, once.
  ChildSpec spec{.command = {"hone", "train"},
                 .program = "/proc/self/exe",
                 .environment = {{kSupervisorVariable, std::to_string(::getpid())}},
                 .group = ChildSpec::kOwnGroup,
                 .death_signal = SIGTERM};
  spec.command.insert(spec.command.end(), args.begin(), args.end());
  const Child child = HONE_TRY(spawn(spec));
  for (int sent = 0;;) {
    if (const auto end = child_ended(child.pid)) return TrainEnd{*end, child.error()};
    // A request to stop is handed on once.
    if (stop_requested() && sent != stop_signal()) {
      sent = stop_signal();
      ::kill(child.pid, sent);
    }
    system_clock().sleep(0.02);
  }
}

// Its name with what its manifest says, so that one that was replaced counts as new.
Result<std::string> mark_of(const CheckpointInfo& c) {
  if (!c.by_hone) return c.path + "\n";
  const std::string manifest = HONE_TRY(file_store().read(c.path + "/" + kManifestFile));
  return c.path + "\n" + manifest;
}

// False when a stop was requested meanwhile.
bool pause_for(double seconds) {
  for (double left = seconds; left > 0 && !stop_requested(); left -= 0.1) system_clock().sleep(0.1);
  return !stop_requested();
}

}  // namespace

Result<std::set<std::string>> marks_of_checkpoints(const std::string& folder) {
  std::set<std::string> found;
  for (const CheckpointInfo& c : HONE_TRY(find_checkpoints(folder)))
    found.insert(HONE_TRY(mark_of(c)));
  return found;
}

Result<std::string> newest_since(const std::string& folder, const std::set<std::string>& before) {
  for (const CheckpointInfo& c : HONE_TRY(find_checkpoints(folder)))
    if (c.resumable && !before.contains(HONE_TRY(mark_of(c)))) return c.path;
  return "";
}

bool is_supervised() { return environment(kSupervisorVariable) == std::to_string(::getppid()); }

Result<int> supervise(const std::vector<std::string>& args, const TrainSettings& s) {
  install_stop_handlers();
  ::setenv("HONE_RUN_ID", new_run_id().c_str(),
           1);  // one run, whatever the number of its processes
  int64_t tries = 0;
  double pause = kFirstPause;
  Result<std::set<std::string>> before = marks_of_checkpoints(s.output_dir);
  for (; !before.ok(); before = marks_of_checkpoints(s.output_dir)) {
    if (!before.error().is_transient() || tries == s.restarts) return std::move(before.error());
    ++tries;
    log_warning("the run is not started yet, the folder '{}' is asked again in {:.0f} s: {}",
                s.output_dir, pause, before.error().text());
    if (!pause_for(pause)) return 128 + stop_signal();
    pause = std::min(2 * pause, kLongestPause);
  }
  tries = 0;
  pause = kFirstPause;
  std::string newest;  // of this run
  for (;;) {
    // A checkpoint of this run is continued from, whatever the flags say of those before it.
    std::vector<std::string> now = args;
    if (!newest.empty())
      now.insert(now.end(),
                 {"--overwrite_output_dir", "false", "--resume_from_checkpoint", newest});
    const TrainEnd end = HONE_TRY(run_child(now));
    const auto [signal, status] = end.process;
    const bool crashed = signal != 0 || status == kExitBug ||
                         (status == kExitUserError && end.error && end.error->is_transient());
    const auto pass_on = [&] {
      if (end.error) report_error(*end.error);
      return status;
    };
    if (!crashed || stop_requested()) return pass_on();
    const std::string how =
        signal != 0 ? fmt::format("by signal {}", signal)
                    : fmt::format("with status {}{}", status,
                                  end.error ? fmt::format(" ({})", end.error->code()) : "");
    // If there is no answer nothing is started: a child that does not know of the checkpoints of
    // this run may delete them.
    for (bool paused = false;; paused = true) {
      const Result<std::string> found = newest_since(s.output_dir, *before);
      // A checkpoint that was saved meanwhile says that the run gets on. One that vanished was being
      // replaced: the child brings it back, or says that it is not there.
      if (found.ok() && !found->empty() && *found != newest) {
        newest = *found;
        tries = 0;
        pause = kFirstPause;
      }
      if (found.ok() && paused) break;
      if (tries == s.restarts) {
        log_error(
            "the run ended {}, {} times in a row without a new checkpoint: it is not started again",
            how, tries + 1);
        if (!found.ok())
          log_error("its checkpoints could not be looked for: {}", found.error().text());
        return pass_on();
      }
      ++tries;
      log_warning("the run ended {}: restart {} of {} in {:.0f} s", how, tries, s.restarts, pause);
      if (!found.ok())
        log_warning("its checkpoints cannot be looked for, which is tried again first: {}",
                    found.error().text());
      if (!pause_for(pause)) return 128 + stop_signal();
      pause = std::min(2 * pause, kLongestPause);
      if (found.ok()) break;
    }
  }
}

}  // namespace hone
