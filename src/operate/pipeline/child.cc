#include "operate/pipeline/child.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/store/private_file.h"

namespace hone {
namespace {

constexpr const char* kTokenVariable = "HONE_PIPELINE_STEP";

std::vector<int64_t> members_of_group(int64_t group, const std::string& token) {
  std::vector<int64_t> found;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return found;
  const std::string wanted = std::string(kTokenVariable) + "=" + token;
  while (const dirent* entry = ::readdir(proc)) {
    const int64_t pid = std::atoll(entry->d_name);
    if (pid <= 0) continue;
    const std::vector<std::string> fields = stat_fields(pid);
    if (fields.empty() || fields[2] != std::to_string(group)) continue;
    const auto environment = read_file(fmt::format("/proc/{}/environ", pid));
    if (!environment.ok()) continue;
    for (const std::string& entry_of : split(*environment, '\0'))
      if (entry_of == wanted) found.push_back(pid);
  }
  ::closedir(proc);
  return found;
}

// From here on only what is allowed between fork and exec.

// Returns in the command. The process that has called it waits for the command, whatever becomes of the
// pipeline's process, so that its end is never lost.
int guard_command(const ChildRequest& r, pid_t parent, std::span<const int> needed) {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int signal : {SIGCHLD, SIGUSR1, SIGTERM, SIGINT}) ::sigaddset(&watched, signal);
  ::sigprocmask(SIG_SETMASK, &watched, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (::getppid() != parent) ::_exit(126);
  const pid_t self = ::getpid(), command = ::fork();
  if (command < 0) return errno;
  if (command == 0) {
    ::prctl(PR_SET_PDEATHSIG, r.death_signal);
    if (::getppid() != self) ::_exit(126);
    return 0;
  }
  for (const int fd : needed) ::close(fd);
  if (::getppid() != parent) ::kill(command, r.death_signal);
  for (int status = 0;;) {
    if (::waitpid(command, &status, WNOHANG) == command) {
      if (status == 0 && !r.part.empty() && ::rename(r.part.c_str(), r.done.c_str()) != 0)
        ::_exit(126);
      ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
    int signal = 0;
    // SIGTERM and SIGINT reach the command by itself: it is in this group.
    if (::sigwait(&watched, &signal) == 0 && signal == SIGUSR1) ::kill(command, r.death_signal);
  }
}

}  // namespace

Result<Child> start_child(const ChildRequest& r, const std::function<Status(pid_t)>& record) {
  ChildSpec spec{.command = r.command,
                 .environment = r.environment,
                 .in = {ChildStream::kNull},
                 .out = {ChildStream::kNewFile, r.out_file, kPrivateFile},
                 .group = ChildSpec::kOwnGroup,
                 .closes_files = true,  // a lock of this process would outlive it
                 .record = record};
  spec.environment[kTokenVariable] = r.token;
  if (!r.log_file.empty()) spec.err = {ChildStream::kAppend, r.log_file, kPrivateFile};
  spec.before_start = [&r, parent = ::getpid()](std::span<const int> needed) {
    return guard_command(r, parent, needed);
  };
  return spawn(spec);
}

void signal_group(pid_t pid, int signal) {
  if (pid > 1) ::kill(-pid, signal);
}

bool end_leftovers(int64_t pid, const std::string& start, const std::string& token,
                   double patience_s) {
  bool any = false;
  const double begin = system_clock().seconds();
  for (bool asked = false;;) {
    std::vector<int64_t> alive = members_of_group(pid, token);
    // Between fork and exec its environment is ours, without the token.
    if (alive.empty() && !start.empty() && start_of_process(pid) == start) alive = {pid};
    if (alive.empty()) return any;
    any = true;
    const bool kill = system_clock().seconds() - begin > patience_s;
    for (const int64_t member : alive)
      if (kill || !asked) ::kill(static_cast<pid_t>(member), kill ? SIGKILL : SIGTERM);
    asked = true;
    system_clock().sleep(0.02);
  }
}

}  // namespace hone
