#include "operate/launch/child_lines.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace hone {
namespace {

constexpr size_t kMostPartialBytes = 64 << 10;

void write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      (void)::poll(&ready, 1, -1);
      continue;
    }
    if (put < 0 && errno != EINTR) return;  // nobody reads it
    if (put > 0) bytes.remove_prefix(static_cast<size_t>(put));
  }
}

}  // namespace

std::string take_lines(std::string& partial, const std::string& prefix, bool all,
                       bool spares_json) {
  std::string lines;
  const auto add = [&](const std::string& line) {
    lines += (spares_json && line.starts_with('{') ? "" : prefix) + line;
  };
  size_t begin = 0;
  for (size_t end; (end = partial.find('\n', begin)) != std::string::npos; begin = end + 1)
    add(partial.substr(begin, end + 1 - begin));
  partial.erase(0, begin);
  if (!partial.empty() && (all || partial.size() > kMostPartialBytes)) {
    add(partial + "\n");
    partial.clear();
  }
  return lines;
}

ChildLines::ChildLines(FileDescriptor from, int to, std::string prefix)
    : from_(std::move(from)), to_(to), prefix_(std::move(prefix)) {
  (void)::fcntl(from_.get(), F_SETFL, O_NONBLOCK);
}

bool ChildLines::copy() {
  for (char buffer[16384];;) {
    const ssize_t got = ::read(from_.get(), buffer, sizeof buffer);
    if (got > 0) partial_.append(buffer, static_cast<size_t>(got));
    if (got < 0 && errno == EINTR) continue;
    const bool ended = got == 0 || (got < 0 && errno != EAGAIN);
    write_whole(to_, take_lines(partial_, prefix_, ended, to_ == STDERR_FILENO));
    if (got <= 0) return !ended;
  }
}

}  // namespace hone
