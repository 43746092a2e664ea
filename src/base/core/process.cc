#include "base/core/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/core/child.h"
#include "base/core/clock.h"
#include "base/core/text.h"

namespace hone {

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::string own_program() {
  std::array<char, 4096> path{};
  const ssize_t bytes = ::readlink("/proc/self/exe", path.data(), path.size());
  return bytes > 0 ? std::string(path.data(), static_cast<size_t>(bytes)) : "hone";
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-=,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_word(word));
  return join(quoted, " ");
}

Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                  const CommandOptions& options) {
  std::string_view left = options.input;
  const ChildStream pipe = {ChildStream::kPipe};
  Child child = HONE_TRY(spawn({.command = argv,
                                .environment = options.environment,
                                .folder = options.folder,
                                .in = left.empty() ? ChildStream{ChildStream::kNull} : pipe,
                                .out = pipe,
                                .err = pipe}));
  if (child.in) ::fcntl(child.in.get(), F_SETFL, O_NONBLOCK);
  CommandOutput result;
  double deadline = system_clock().seconds() + options.timeout_seconds;
  while (child.out || child.err) {
    pollfd fds[3] = {
        {child.out.get(), POLLIN, 0}, {child.err.get(), POLLIN, 0}, {child.in.get(), POLLOUT, 0}};
    int wait_ms = -1;
    if (options.timeout_seconds > 0) {
      wait_ms = std::max(0, static_cast<int>((deadline - system_clock().seconds()) * 1000) + 1);
    }
    int n = ::poll(fds, 3, wait_ms);
    if (n < 0 && errno != EINTR) break;
    if (options.timeout_seconds > 0 && system_clock().seconds() >= deadline) {
      ::kill(child.pid, SIGKILL);
      result.timed_out = true;
      break;
    }
    auto drain = [](pollfd& p, FileDescriptor& fd, std::string& into) {
      if (p.revents == 0 || !fd) return;
      char buffer[16384];
      ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
      if (got > 0)
        into.append(buffer, static_cast<size_t>(got));
      else if (got == 0 || errno != EINTR)
        fd.close();
    };
    drain(fds[0], child.out, result.out);
    drain(fds[1], child.err, result.err);
    if (fds[2].revents != 0 && child.in) {
      ssize_t put = ::write(child.in.get(), left.data(), left.size());
      if (put > 0) left.remove_prefix(static_cast<size_t>(put));
      if (left.empty() || (put < 0 && errno != EAGAIN && errno != EINTR)) child.in.close();
    }
  }
  result.status = wait_for_child(child.pid).status;
  result.error = child.error();
  return result;
}

}  // namespace hone
