#include "operate/pipeline/child.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/core/clock.h"
#include "base/core/errors.h"
#include "base/core/text.h"

extern char** environ;

namespace hone {
namespace {

constexpr const char* kTokenVariable = "HONE_PIPELINE_STEP";

// The fields of /proc/PID/stat after the name, which may hold anything; "" where there is none. A
// zombie counts as gone.
std::vector<std::string> stat_fields(int64_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text.ok()) return {};
  const size_t end = text->rfind(") ");
  if (end == std::string::npos) return {};
  std::vector<std::string> fields = split(trim(std::string_view(*text).substr(end + 2)), ' ');
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return {};
  return fields;
}

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
[[noreturn]] void become_command(const ChildRequest& r, pid_t parent, int fault, char* const* argv,
                                 char* const* env) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, r.death_signal);
  if (::getppid() != parent) ::_exit(126);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = ::open(r.out_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const int log = ::open(r.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (in >= 0 && out >= 0 && log >= 0) {
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(log, 2);
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGTERM, SIGINT}) ::signal(signal, SIG_DFL);
    ::execvpe(argv[0], argv, env);
  }
  const int code = errno;
  (void)!::write(fault, &code, sizeof code);
  ::_exit(127);
}

// Waits for the command, whatever becomes of the pipeline's process, so that its end is never lost.
[[noreturn]] void become_guard(const ChildRequest& r, pid_t parent, int gate, int fault,
                               char* const* argv, char* const* env) {
  ::setpgid(0, 0);  // the terminal's Ctrl-C comes through the pipeline, once
  // What is open in the pipeline's process is not this one's: its lock would outlive it.
  const unsigned first = static_cast<unsigned>(std::min(gate, fault)),
                 second = static_cast<unsigned>(std::max(gate, fault));
  if (first > 3) ::close_range(3, first - 1, 0);
  if (second > first + 1) ::close_range(first + 1, second - 1, 0);
  ::close_range(second + 1, ~0U, 0);
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int signal : {SIGCHLD, SIGUSR1, SIGTERM, SIGINT}) ::sigaddset(&watched, signal);
  ::sigprocmask(SIG_SETMASK, &watched, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGUSR1);
  char go = 0;
  if (::getppid() != parent || ::read(gate, &go, 1) != 1) ::_exit(126);
  const pid_t self = ::getpid(), command = ::fork();
  if (command == 0) become_command(r, self, fault, argv, env);
  if (command < 0) {
    const int code = errno;
    (void)!::write(fault, &code, sizeof code);
    ::_exit(127);
  }
  ::close(fault);
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

std::string start_of_process(int64_t pid) {
  const std::vector<std::string> fields = stat_fields(pid);
  return fields.empty() ? "" : fields[19];
}

Result<pid_t> start_child(const ChildRequest& r, const std::function<Status(pid_t)>& record) {
  const auto fail = [&](const char* doing, int code) {
    return Error(err::kCommandFailed,
                 fmt::format("cannot run '{}': {}: {}", r.command[0], doing, std::strerror(code)))
        .todo(code == ENOENT ? fmt::format("install '{}' or add its folder to PATH", r.command[0])
                             : "");
  };
  std::map<std::string, std::string> added = r.environment;
  added[kTokenVariable] = r.token;
  std::vector<std::string> words = r.command, variables;
  for (char** e = environ; *e != nullptr; ++e)
    if (!added.contains(std::string(*e, std::strcspn(*e, "=")))) variables.emplace_back(*e);
  for (const auto& [name, value] : added) variables.push_back(name + "=" + value);
  std::vector<char*> argv, env;
  for (std::string& w : words) argv.push_back(w.data());
  for (std::string& v : variables) env.push_back(v.data());
  argv.push_back(nullptr);
  env.push_back(nullptr);
  int gate[2], fault[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) return fail("pipe", errno);
  if (::pipe2(fault, O_CLOEXEC) != 0) {
    const int code = errno;
    ::close(gate[0]), ::close(gate[1]);
    return fail("pipe", code);
  }
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid == 0) {
    ::close(gate[1]);
    become_guard(r, parent, gate[0], fault[1], argv.data(), env.data());
  }
  const int fork_code = errno;
  ::close(gate[0]);
  ::close(fault[1]);
  const auto closed = [&] { ::close(gate[1]), ::close(fault[0]); };
  if (pid < 0) {
    closed();
    return fail("fork", fork_code);
  }
  ::setpgid(pid, pid);
  Status recorded = record(pid);
  if (!recorded.ok() || ::write(gate[1], "g", 1) != 1) {
    closed();
    ::waitpid(pid, nullptr, 0);
    return recorded.ok() ? fail("start", errno) : std::move(recorded.error());
  }
  int code = 0;
  const bool failed = ::read(fault[0], &code, sizeof code) == sizeof code;
  closed();
  if (failed) {
    ::waitpid(pid, nullptr, 0);
    return fail("start", code);
  }
  return pid;
}

bool child_ended(pid_t pid, int& status) {
  int raw = 0;
  if (::waitpid(pid, &raw, WNOHANG) != pid) return false;
  status = WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
  return true;
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
