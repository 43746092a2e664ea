#include "base/core/detach.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/core/errors.h"

namespace hone {

Result<int64_t> start_detached(const std::vector<std::string>& argv, const std::string& log) {
  const auto fail = [&](const std::string& what, int code) {
    return Error(err::kCommandFailed,
                 fmt::format("cannot run '{}': {}: {}", argv[0], what, std::strerror(code)));
  };
  std::error_code made;
  std::filesystem::create_directories(std::filesystem::path(log).parent_path(), made);
  const int to = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (to < 0) return fail(log, errno);
  const int none = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  int fault[2], number[2];  // what exec says; the process number, or what fork says
  if (none < 0 || ::pipe2(fault, O_CLOEXEC) != 0 || ::pipe2(number, O_CLOEXEC) != 0) {
    const int code = errno;
    ::close(to);
    return fail("pipe", code);
  }
  std::vector<std::string> words = argv;
  std::vector<char*> args;
  for (std::string& w : words) args.push_back(w.data());
  args.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {  // only async-signal-safe calls from here to exec
    ::setsid();
    // Its parent ends at once, so that nobody waits for it.
    if (const pid_t second = ::fork(); second != 0) {
      const int told[2] = {static_cast<int>(second), second < 0 ? errno : 0};
      (void)!::write(number[1], told, sizeof told);
      ::_exit(0);
    }
    ::dup2(none, 0);
    ::dup2(to, 1);
    ::dup2(to, 2);
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) ::signal(signal, SIG_DFL);
    sigset_t all;
    ::sigemptyset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::execvp(args[0], args.data());
    const int code = errno;
    (void)!::write(fault[1], &code, sizeof code);
    ::_exit(127);
  }
  const int fork_code = errno;
  ::close(to), ::close(none), ::close(fault[1]), ::close(number[1]);
  int code = 0, told[2] = {-1, 0};
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  const bool known = ::read(number[0], told, sizeof told) == sizeof told;
  const bool failed = ::read(fault[0], &code, sizeof code) == sizeof code;
  ::close(fault[0]), ::close(number[0]);
  if (pid < 0) return fail("fork", fork_code);
  if (!known || told[0] < 0) return fail("fork", told[1]);
  if (failed) return fail("start", code);
  return int64_t{told[0]};
}

}  // namespace hone
