#include "base/core/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/core/error_report.h"
#include "base/core/errors.h"

extern char** environ;

namespace hone {
namespace {

constexpr int64_t kMostReport = int64_t{1} << 20;  // bytes of a report that are read

// Standard input, output and error are made by dup2(), so nothing else may have their numbers.
FileDescriptor above_standard(int fd) {
  if (fd < 0 || fd > 2) return FileDescriptor(fd);
  const FileDescriptor low(fd);
  return FileDescriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

struct ChildPipe {
  FileDescriptor read, write;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read = above_standard(ends[0]);
    write = above_standard(ends[1]);
    return read && write;
  }
};

bool open_stream(const ChildStream& s, bool is_input, FileDescriptor& theirs,
                 FileDescriptor& ours) {
  if (s.kind == ChildStream::kOurs) return true;
  if (s.kind == ChildStream::kPipe) {
    ChildPipe pipe;
    if (!pipe.open()) return false;
    theirs = std::move(is_input ? pipe.read : pipe.write);
    ours = std::move(is_input ? pipe.write : pipe.read);
    return true;
  }
  const bool null = s.kind == ChildStream::kNull;
  const int how = is_input
                      ? O_RDONLY
                      : O_WRONLY | O_CREAT | (s.kind == ChildStream::kAppend ? O_APPEND : O_TRUNC);
  theirs = above_standard(
      ::open(null ? "/dev/null" : s.file.c_str(), how | O_CLOEXEC, static_cast<mode_t>(s.mode)));
  return static_cast<bool>(theirs);
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> p;
  for (std::string& s : strings) p.push_back(s.data());
  p.push_back(nullptr);
  return p;
}

// Data of the new process, made before the fork: nothing may be allocated later.
struct ChildStart {
  const ChildSpec& spec;
  std::vector<std::string> words, variables;
  std::vector<char*> argv, env;
  std::string program;
  FileDescriptor streams[3];
  ChildPipe gate;   // closed without a byte: the program must not begin
  ChildPipe fault;  // a Fault if it cannot begin
  FileDescriptor report;

  explicit ChildStart(const ChildSpec& s) : spec(s), words(s.command) {}
  void make_environment() {
    std::map<std::string, std::string> added = spec.environment;
    added[kErrorVariable] = std::to_string(report.get());
    for (char** e = environ; *e != nullptr; ++e)
      if (!added.contains(std::string(*e, std::strcspn(*e, "=")))) variables.emplace_back(*e);
    for (const auto& [name, value] : added) variables.push_back(name + "=" + value);
    argv = pointers(words);
    env = pointers(variables);
    program = spec.program.empty() ? spec.command[0] : spec.program;
  }
};

struct ChildFault {
  int code;     // errno
  bool folder;  // the working folder is what failed
};

bool read_whole(int fd, void* to, size_t bytes) {
  for (size_t got = 0; got < bytes;) {
    const ssize_t n = ::read(fd, static_cast<char*>(to) + got, bytes - got);
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) got += static_cast<size_t>(n);
  }
  return true;
}

// `kept` are in rising order.
void close_others(std::span<const int> kept) {
  int from = 3;
  for (const int fd : kept) {
    if (fd > from) ::close_range(static_cast<unsigned>(from), static_cast<unsigned>(fd - 1), 0);
    from = fd + 1;
  }
  ::close_range(static_cast<unsigned>(from), ~0U, 0);
}

// From here on only what is allowed between fork and exec.
[[noreturn]] void become_program(ChildStart& start, pid_t parent) {
  const ChildSpec& spec = start.spec;
  const auto give_up = [&](int code, bool folder) {
    const ChildFault fault{code, folder};
    (void)!::write(start.fault.write.get(), &fault, sizeof fault);
    ::_exit(127);
  };
  if (spec.group == ChildSpec::kOwnGroup) ::setpgid(0, 0);
  if (spec.group == ChildSpec::kOwnSession) ::setsid();
  if (spec.death_signal != 0) ::prctl(PR_SET_PDEATHSIG, spec.death_signal);
  if (::getppid() != parent) ::_exit(126);
  for (int i = 0; i < 3; ++i)
    if (start.streams[i]) ::dup2(start.streams[i].get(), i);
  start.gate.write.close();
  std::array<int, 3> kept = {start.report.get(), start.fault.write.get(), start.gate.read.get()};
  std::sort(kept.begin(), kept.end());
  if (spec.closes_files) close_others(kept);
  char go = 0;
  if (!read_whole(start.gate.read.get(), &go, 1)) ::_exit(126);
  start.gate.read.close();
  if (spec.before_start) {
    const std::array<int, 2> needed = {std::min(start.report.get(), start.fault.write.get()),
                                       std::max(start.report.get(), start.fault.write.get())};
    if (const int code = spec.before_start(needed); code != 0) give_up(code, false);
  }
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_DFL);
  if (spec.group != ChildSpec::kOurGroup)
    for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::fcntl(start.report.get(), F_SETFD, 0);
  if (!spec.folder.empty() && ::chdir(spec.folder.c_str()) != 0) give_up(errno, true);
  ::execvpe(start.program.c_str(), start.argv.data(), start.env.data());
  give_up(errno, false);
  __builtin_unreachable();
}

}  // namespace

Result<Child> spawn(const ChildSpec& spec) {
  HONE_BUG_IF(spec.command.empty(), "spawn() needs a program");
  const auto fail = [&](const std::string& doing, int code) {
    Error e(err::kCommandFailed,
            fmt::format("cannot run '{}': {}: {}", spec.command[0], doing, std::strerror(code)));
    if (doing == "start" && code == ENOENT)
      e.todo(fmt::format("install '{}' or add its folder to PATH", spec.command[0]));
    return e;
  };
  Child child;
  ChildStart start(spec);
  const std::pair<const ChildStream*, FileDescriptor*> streams[3] = {
      {&spec.in, &child.in}, {&spec.out, &child.out}, {&spec.err, &child.err}};
  for (int i = 0; i < 3; ++i) {
    const auto& [stream, ours] = streams[i];
    if (!open_stream(*stream, i == 0, start.streams[i], *ours))
      return fail(stream->file.empty() ? "pipe" : stream->file, errno);
  }
  start.report = above_standard(::memfd_create("hone_error", MFD_CLOEXEC));
  if (!start.report || !start.gate.open() || !start.fault.open()) return fail("pipe", errno);
  start.make_environment();
  const pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid == 0) become_program(start, parent);
  if (child.pid < 0) return fail("fork", errno);
  // In both processes, so that it is done before either needs it.
  if (spec.group == ChildSpec::kOwnGroup) ::setpgid(child.pid, child.pid);
  start.fault.write.close();
  start.gate.read.close();
  Status recorded = spec.record ? spec.record(child.pid) : Status(Ok{});
  const bool begins = recorded.ok() && ::write(start.gate.write.get(), "g", 1) == 1;
  const int write_code = errno;
  start.gate.write.close();
  if (recorded.ok() && !begins && write_code == EPIPE) {  // somebody ended it: its end says how
    child.report = std::move(start.report);
    return child;
  }
  ChildFault fault{};
  const bool failed = begins && read_whole(start.fault.read.get(), &fault, sizeof fault);
  if (begins && !failed) {
    child.report = std::move(start.report);
    return child;
  }
  wait_for_child(child.pid);
  if (!recorded.ok()) return std::move(recorded.error());
  if (!begins) return fail("start", write_code);
  return fail(fault.folder ? spec.folder : "start", fault.code);
}

std::optional<Error> Child::error() const {
  struct stat file {};
  if (::fstat(report.get(), &file) != 0 || file.st_size == 0) return std::nullopt;
  std::string text(static_cast<size_t>(std::min<int64_t>(file.st_size, kMostReport)), '\0');
  const ssize_t got = ::pread(report.get(), text.data(), text.size(),
                              file.st_size - static_cast<int64_t>(text.size()));
  return got > 0 ? reported_error(std::string_view(text).substr(0, static_cast<size_t>(got)))
                 : std::nullopt;
}

namespace {
ChildEnd end_of(int raw) {
  if (WIFSIGNALED(raw)) return {WTERMSIG(raw), 128 + WTERMSIG(raw)};
  return {0, WEXITSTATUS(raw)};
}
}  // namespace

ChildEnd wait_for_child(pid_t pid) {
  int raw = 0;
  while (::waitpid(pid, &raw, 0) < 0 && errno == EINTR) {
  }
  return end_of(raw);
}

std::optional<ChildEnd> child_ended(pid_t pid) {
  int raw = 0;
  if (::waitpid(pid, &raw, WNOHANG) != pid) return std::nullopt;
  return end_of(raw);
}

}  // namespace hone
