#include "base/core/cgroup.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/core/system_files.h"
#include "base/core/text.h"

namespace hone {
namespace {

// Version 1 writes "no limit" as nearly 2^63, version 2 as "max".
constexpr int64_t kNoLimit = int64_t{1} << 60;

std::optional<int64_t> number_of(std::string_view text) {
  const std::string_view digits = trim(text);
  int64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (error != std::errc() || n < 0) return std::nullopt;
  return n;
}

template <class T>
void take_least(std::optional<T>& least, T n) {
  least = least ? std::min(*least, n) : n;
}

// The file cache of a memory.stat. Version 1 has lines "total_..." for the group and those below it.
int64_t file_cache(const std::string& folder) {
  int64_t own = 0, all = 0;
  bool has_all = false;
  std::istringstream lines(system_file(folder + "/memory.stat"));
  std::string key;
  for (int64_t bytes = 0; lines >> key >> bytes;) {
    if (key == "active_file" || key == "inactive_file") own += bytes;
    if (key == "total_active_file" || key == "total_inactive_file") {
      all += bytes;
      has_all = true;
    }
  }
  return has_all ? all : own;
}

void take_memory(const std::string& folder, bool v2, Cgroup& group) {
  std::optional<int64_t> limit;
  for (const char* file :
       {v2 ? "/memory.max" : "/memory.limit_in_bytes", v2 ? "/memory.high" : ""}) {
    if (*file == '\0') continue;
    const std::optional<int64_t> n = number_of(first_line(folder + file));
    if (n && *n > 0 && *n < kNoLimit) take_least(limit, *n);
  }
  if (!limit) return;
  take_least(group.memory_limit_bytes, *limit);
  const std::optional<int64_t> used =
      number_of(first_line(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes")));
  if (!used) return;
  const int64_t cache = std::min(file_cache(folder), *used);
  take_least(group.memory_free_bytes, std::max<int64_t>(*limit - *used + cache, 0));
}

void take_cpus(const std::string& folder, bool v2, Cgroup& group) {
  double quota = 0, period = 0;
  if (v2) {
    std::istringstream line(first_line(folder + "/cpu.max"));
    if (!(line >> quota >> period)) return;  // "max 100000"
  } else {
    std::istringstream q(first_line(folder + "/cpu.cfs_quota_us"));
    std::istringstream p(first_line(folder + "/cpu.cfs_period_us"));
    if (!(q >> quota) || !(p >> period)) return;
  }
  if (quota > 0 && period > 0) take_least(group.cpus, quota / period);  // -1: no limit
}

bool lists(const std::string& controllers, std::string_view name) {
  for (const std::string& one : split(controllers, ','))
    if (one == name) return true;
  return false;
}

// Calls `take` on the folder of the group and on those above it. If a container sees only its own
// part of the tree, the group's path from the host is missing, and the root is the group.
template <class Take>
void walk_up(const std::string& mount, std::string path, Take take) {
  if (path.starts_with("/..")) path.clear();  // above what the process may see
  while (!path.empty() && path.back() == '/') path.pop_back();
  for (;;) {
    take(mount + path);
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return;
    path.resize(slash);
  }
}

}  // namespace

Cgroup read_cgroup(const std::string& root) {
  Cgroup group;
  const std::string mounts = root + "/sys/fs/cgroup";
  std::istringstream lines(system_file(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {  // id:controllers:path
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const bool v2 = controllers.empty();
    // Both versions together have version 2 in "unified"; version 1 has folders named after its
    // controllers, one by one or joined.
    std::vector<std::string> folders;
    if (v2)
      folders = {"", "/unified"};
    else
      folders = {"/" + controllers};
    const bool memory = v2 || lists(controllers, "memory"), cpu = v2 || lists(controllers, "cpu");
    if (!v2 && memory && controllers != "memory") folders.push_back("/memory");
    if (!v2 && cpu && controllers != "cpu") folders.push_back("/cpu");
    for (const std::string& folder : folders)
      walk_up(mounts + folder, path, [&](const std::string& at) {
        if (memory) take_memory(at, v2, group);
        if (cpu) take_cpus(at, v2, group);
      });
  }
  return group;
}

}  // namespace hone
