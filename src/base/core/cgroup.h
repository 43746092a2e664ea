// Limits of memory and processor time that control groups (cgroups, such as those of a container) set for this
// process. Reads cgroup version 1, version 2 and systems with both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hone {

// Each member is the smallest value in the group of the process and all parents of this group; nullopt: no limit.
struct Cgroup {
  // The smaller of memory.max and memory.high (version 2), or memory.limit_in_bytes (version 1).
  std::optional<int64_t> memory_limit_bytes;
  // Memory that the group can still take, at least 0: limit - usage + file cache (active_file and inactive_file of
  // memory.stat), because the kernel can free the file cache. The usage counts all processes of the group, this
  // one included.
  std::optional<int64_t> memory_free_bytes;
  // The processor time in processors, quota / period: 1.5 is the time of one and a half processors.
  std::optional<double> cpus;
};

// Reads the limits now. A file that does not exist or does not hold a number sets no limit. Tests give a folder
// `root`, which is put in front of the paths /proc/self/cgroup and /sys/fs/cgroup. Reference:
// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1 of the Linux kernel.
Cgroup read_cgroup(const std::string& root = "");

}  // namespace hone
