// Limits of this process's control groups (a container's limits): version 1, 2 and both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hone {

// Each value is the minimum over the group of the process and all groups above it; none: no limit.
struct Cgroup {
  std::optional<int64_t> memory_limit_bytes;  // memory.max and memory.high, or limit_in_bytes
  // The rest of a limit: limit - usage + file cache (active_file and inactive_file), because the
  // kernel can free the file cache. The usage counts all processes of the group, this one included.
  std::optional<int64_t> memory_free_bytes;
  std::optional<double> cpus;  // quota / period of processor time
};

// `root` is put before /proc/self/cgroup and /sys/fs/cgroup, for tests. A file that does not exist,
// or that holds no number, sets no limit. Reference: Documentation/admin-guide/cgroup-v2.rst and
// cgroup-v1 of the Linux kernel.
Cgroup read_cgroup(const std::string& root = "");

}  // namespace hone
