#include "base/core/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/core/clock.h"
#include "base/core/errors.h"
#include "base/core/text.h"

extern char** environ;

namespace hone {

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

namespace {
struct Fd {
  int fd = -1;
  ~Fd() { close(); }
  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};
struct Pipe {
  Fd read, write;
  bool open() {
    int p[2];
    if (::pipe2(p, O_CLOEXEC) != 0) return false;
    read.fd = p[0];
    write.fd = p[1];
    return true;
  }
};

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** e = environ; *e != nullptr; ++e) {
    std::string_view entry(*e);
    if (!added.count(std::string(entry.substr(0, entry.find('='))))) all.emplace_back(entry);
  }
  for (const auto& [k, v] : added) all.push_back(k + "=" + v);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> p;
  for (std::string& s : strings) p.push_back(s.data());
  p.push_back(nullptr);
  return p;
}
}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                  const CommandOptions& options) {
  HONE_BUG_IF(argv.empty(), "run_command needs a program");
  auto fail = [&](const char* doing, int code) {
    return Error(err::kCommandFailed,
                 fmt::format("cannot run '{}': {}: {}", argv[0], doing, std::strerror(code)))
        .todo(code == ENOENT ? fmt::format("install '{}' or add its folder to PATH", argv[0]) : "");
  };
  Pipe in, out, err, exec_error;
  if (!in.open() || !out.open() || !err.open() || !exec_error.open()) return fail("pipe", errno);
  std::vector<std::string> args = argv, env = merged_environment(options.environment);
  std::vector<char*> arg_pointers = pointers(args), env_pointers = pointers(env);
  pid_t pid = ::fork();
  if (pid < 0) return fail("fork", errno);
  if (pid == 0) {  // only async-signal-safe calls from here to exec
    ::dup2(in.read.fd, 0);
    ::dup2(out.write.fd, 1);
    ::dup2(err.write.fd, 2);
    ::signal(SIGPIPE, SIG_DFL);
    if (options.folder.empty() || ::chdir(options.folder.c_str()) == 0) {
      ::execvpe(arg_pointers[0], arg_pointers.data(), env_pointers.data());
    }
    int code = errno;
    (void)!::write(exec_error.write.fd, &code, sizeof code);
    ::_exit(127);
  }
  in.read.close();
  out.write.close();
  err.write.close();
  exec_error.write.close();
  int code = 0;
  if (::read(exec_error.read.fd, &code, sizeof code) == sizeof code) {
    ::waitpid(pid, nullptr, 0);
    return fail("start", code);
  }

  CommandOutput result;
  std::string_view left = options.input;
  if (left.empty())
    in.write.close();
  else
    ::fcntl(in.write.fd, F_SETFL, O_NONBLOCK);
  double deadline = system_clock().seconds() + options.timeout_seconds;
  while (out.read.fd >= 0 || err.read.fd >= 0) {
    pollfd fds[3] = {{out.read.fd, POLLIN, 0}, {err.read.fd, POLLIN, 0}, {in.write.fd, POLLOUT, 0}};
    int wait_ms = -1;
    if (options.timeout_seconds > 0) {
      wait_ms = std::max(0, static_cast<int>((deadline - system_clock().seconds()) * 1000) + 1);
    }
    int n = ::poll(fds, 3, wait_ms);
    if (n < 0 && errno != EINTR) break;
    if (options.timeout_seconds > 0 && system_clock().seconds() >= deadline) {
      ::kill(pid, SIGKILL);
      result.timed_out = true;
      break;
    }
    auto drain = [](pollfd& p, Fd& fd, std::string& into) {
      if (p.revents == 0 || fd.fd < 0) return;
      char buffer[16384];
      ssize_t got = ::read(fd.fd, buffer, sizeof buffer);
      if (got > 0)
        into.append(buffer, static_cast<size_t>(got));
      else if (got == 0 || errno != EINTR)
        fd.close();
    };
    drain(fds[0], out.read, result.out);
    drain(fds[1], err.read, result.err);
    if (fds[2].revents != 0 && in.write.fd >= 0) {
      ssize_t put = ::write(in.write.fd, left.data(), left.size());
      if (put > 0) left.remove_prefix(static_cast<size_t>(put));
      if (left.empty() || (put < 0 && errno != EAGAIN && errno != EINTR)) in.write.close();
    }
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace hone
