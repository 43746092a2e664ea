#include "base/core/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/core/clock.h"
#include "base/core/errors.h"
#include "base/core/text.h"

extern char** environ;

namespace hone {

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

// ---------------------------------------------------------------- other programs
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

// ---------------------------------------------------------------- signals
namespace {
std::atomic<int> stop_flag{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_stop(int signal) {
  if (signal == SIGINT && stop_flag.load() == SIGINT) {
    constexpr std::string_view kText =
        "\ninterrupted twice: ending at once, nothing more is saved\n";
    (void)!::write(STDERR_FILENO, kText.data(), kText.size());
    ::_exit(130);
  }
  stop_flag.store(signal);
}
}  // namespace

void install_stop_handlers() {
  struct sigaction action {};
  action.sa_handler = on_stop;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}
bool stop_requested() { return stop_flag.load(std::memory_order_relaxed) != 0; }
int stop_signal() { return stop_flag.load(); }
void request_stop(int signal) { stop_flag.store(signal); }

// ---------------------------------------------------------------- memory
namespace {
// The number after "key:" in a file of "key: N kB" lines, in bytes.
int64_t field_bytes(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = trim(text.substr(at + key.size(), 64));
  int64_t kib = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), kib);
  return kib * 1024;
}

std::optional<int64_t> number_in(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text.ok()) return std::nullopt;
  std::string_view digits = trim(*text);
  int64_t n = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  // Version 1 writes "no limit" as nearly 2^63.
  if (error != std::errc() || n <= 0 || n >= (int64_t{1} << 60)) return std::nullopt;
  return n;
}

// Walks from our control group to the root and takes the smallest limit.
std::optional<int64_t> control_group_limit() {
  Result<std::string> groups = read_file("/proc/self/cgroup");
  if (!groups.ok()) return std::nullopt;
  std::optional<int64_t> least;
  for (const std::string& line : split(*groups, '\n')) {
    std::vector<std::string> part = split(line, ':');  // id:controllers:path
    if (part.size() < 3) continue;
    bool v2 = part[1].empty();
    if (!v2 && ("," + part[1] + ",").find(",memory,") == std::string::npos) continue;
    std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* file = v2 ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::string path = part[2] == "/" ? "" : part[2];; path.resize(path.rfind('/'))) {
      if (std::optional<int64_t> n = number_in(root + path + file)) {
        least = least ? std::min(*least, *n) : *n;
      }
      if (path.empty() || path.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}
}  // namespace

int64_t MemoryReading::usable_bytes() const {
  return limit_bytes ? std::min(*limit_bytes, total_bytes) : total_bytes;
}

MemoryReading read_memory() {
  MemoryReading m;
  if (Result<std::string> status = read_file("/proc/self/status"); status.ok()) {
    m.rss_anon_bytes = field_bytes(*status, "RssAnon:");
    m.rss_shmem_bytes = field_bytes(*status, "RssShmem:");
    m.rss_file_bytes = field_bytes(*status, "RssFile:");
    m.rss_peak_bytes = field_bytes(*status, "VmHWM:");
  }
  if (Result<std::string> machine = read_file("/proc/meminfo"); machine.ok()) {
    m.total_bytes = field_bytes(*machine, "MemTotal:");
    m.available_bytes = field_bytes(*machine, "MemAvailable:");
  }
  m.limit_bytes = control_group_limit();
  return m;
}

}  // namespace hone
