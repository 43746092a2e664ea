#include "run/commands/supervise.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/core/clock.h"
#include "base/core/errors.h"
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/store.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "operate/reporters/run_info.h"
#include "run/commands/command.h"

namespace hone {
namespace {

constexpr const char* kEndVariable = "HONE_SUPERVISOR_PIPE";  // a file descriptor
constexpr double kFirstPause = 1, kLongestPause = 60;

// Faults of the world around, not of what the user wrote.
bool may_pass(const std::string& code) {
  for (const ErrorCode& e :
       {err::kNetwork, err::kHttpStatus, err::kChecksum, err::kStoreFailed, err::kInterrupted})
    if (code == e.id) return true;
  return false;
}

struct End {
  int status = 0;    // of waitpid()
  std::string code;  // of the Error that ended it, "" without
};

Result<End> run_child(const std::vector<std::string>& args) {
  std::vector<std::string> words = {"hone", "train"};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error(err::kCommandFailed, "cannot make a pipe to the run");
  const std::string name = std::to_string(ends[1]);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) return Error(err::kCommandFailed, "cannot start the run as a process of its own");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // without its supervisor it saves and ends
    if (::getppid() != parent) ::_exit(128 + SIGTERM);
    ::setpgid(0, 0);  // the terminal's Ctrl-C comes through the supervisor, once
    ::fcntl(ends[1], F_SETFD, 0);
    ::setenv(kEndVariable, name.c_str(), 1);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  End end;
  int sent = 0;
  for (;;) {
    // A request to stop interrupts the wait; it is handed on once.
    const pid_t waited = ::waitpid(child, &end.status, WNOHANG);
    if (waited == child) break;
    if (stop_requested() && sent != stop_signal()) {
      sent = stop_signal();
      ::kill(child, sent);
    }
    ::usleep(20'000);
  }
  std::array<char, 64> text{};
  const ssize_t n = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  if (n > 0) end.code = std::string(trim(std::string_view(text.data(), static_cast<size_t>(n))));
  return end;
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

bool is_supervised() { return !environment(kEndVariable).empty(); }

void tell_supervisor(const Error& error) {
  const std::string fd = environment(kEndVariable), text = std::string(error.code()) + "\n";
  if (!fd.empty()) (void)!::write(std::atoi(fd.c_str()), text.data(), text.size());
}

Result<int> supervise(const std::vector<std::string>& args, const TrainSettings& s) {
  install_stop_handlers();
  ::setenv("HONE_RUN_ID", new_run_id().c_str(),
           1);  // one run, whatever the number of its processes
  int64_t tries = 0;
  double pause = kFirstPause;
  Result<std::set<std::string>> before = marks_of_checkpoints(s.output_dir);
  for (; !before.ok(); before = marks_of_checkpoints(s.output_dir)) {
    if (!may_pass(before.error().code()) || tries == s.restarts) return std::move(before.error());
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
    const End end = HONE_TRY(run_child(now));
    const bool killed = WIFSIGNALED(end.status);
    const int status = killed ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status);
    const bool crashed =
        killed || status == kExitBug || (status == kExitUserError && may_pass(end.code));
    if (!crashed || stop_requested()) return status;
    const std::string how = killed ? fmt::format("by signal {}", WTERMSIG(end.status))
                                   : fmt::format("with status {}{}", status,
                                                 end.code.empty() ? "" : " (" + end.code + ")");
    // Without an answer nothing is started: a child that does not know of the checkpoints of this run
    // may delete them.
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
        return status;
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
