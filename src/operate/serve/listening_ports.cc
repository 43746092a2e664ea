#include "operate/serve/listening_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace hone {
namespace {

// The links to listening sockets of a port, as in /proc/PID/fd: "socket:[4711]". Columns of /proc/net/tcp: proc_pid_net(5).
std::set<std::string> listening_sockets(int port) {
  constexpr size_t kLocal = 1, kState = 3, kInode = 9;
  std::set<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream text(line);
      const std::vector<std::string> columns{std::istream_iterator<std::string>(text), {}};
      if (columns.size() <= kInode || columns[kState] != "0A") continue;
      const std::string& local = columns[kLocal];
      int at = 0;
      std::from_chars(local.data() + local.find(':') + 1, local.data() + local.size(), at, 16);
      if (at == port) sockets.insert(fmt::format("socket:[{}]", columns[kInode]));
    }
  }
  return sockets;
}

}  // namespace

bool listens_alone(int64_t pid, int port) {
  const std::set<std::string> sockets = listening_sockets(port);
  if (sockets.empty()) return false;
  std::error_code failed;
  std::set<std::string> own;
  std::filesystem::directory_iterator file(fmt::format("/proc/{}/fd", pid), failed);
  for (; !failed && file != std::filesystem::directory_iterator(); file.increment(failed)) {
    std::error_code closed;
    own.insert(std::filesystem::read_symlink(file->path(), closed).string());
  }
  return failed || std::ranges::includes(own, sockets);
}

}  // namespace hone
