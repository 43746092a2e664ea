#include "operate/launch/out_of_memory.h"

#include <sstream>

#include "base/core/cgroup.h"
#include "base/core/system_files.h"
#include "base/core/text.h"

namespace hone {
namespace {

// The number after `key` in lines "key number"; 0 if there is none.
int64_t kills_in(const std::string& text) {
  std::istringstream lines(text);
  std::string key;
  for (int64_t number = 0; lines >> key >> number;)
    if (key == "oom_kill") return number;
  return 0;
}

}  // namespace

OutOfMemoryWatch::OutOfMemoryWatch(std::string root)
    : root_(std::move(root)), group_(group_kills()), host_(host_kills()) {}

int64_t OutOfMemoryWatch::group_kills() const {
  int64_t kills = 0;
  std::istringstream groups(system_file(root_ + "/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {  // id:controllers:path
    const std::vector<std::string> parts = split(line, ':');
    if (parts.size() != 3) continue;
    const std::string folder = root_ + "/sys/fs/cgroup";
    if (parts[1].empty())
      kills += kills_in(system_file(folder + parts[2] + "/memory.events"));
    else if (parts[1] == "memory")
      kills += kills_in(system_file(folder + "/memory" + parts[2] + "/memory.oom_control"));
  }
  return kills;
}

int64_t OutOfMemoryWatch::host_kills() const {
  return kills_in(system_file(root_ + "/proc/vmstat"));
}

std::string OutOfMemoryWatch::exhausted() const {
  if (group_kills() > group_) {
    const auto limit = read_cgroup(root_).memory_limit_bytes;
    return "the limit of its control group" +
           (limit ? fmt::format(" ({})", format_bytes(*limit)) : std::string());
  }
  return host_kills() > host_ ? "the memory of its host" : "";
}

}  // namespace hone
