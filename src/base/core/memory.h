// How much memory this process has, and how much the machine and its cgroup leave it.
#pragma once

#include <cstdint>
#include <optional>

namespace hone {

struct MemoryReading {
  int64_t rss_anon_bytes = 0;  // of this process
  int64_t rss_shmem_bytes = 0;
  int64_t rss_file_bytes = 0;
  int64_t rss_peak_bytes = 0;  // VmHWM
  int64_t total_bytes = 0;     // of the machine
  int64_t available_bytes = 0;
  std::optional<int64_t> limit_bytes;       // the least of the cgroups
  std::optional<int64_t> group_free_bytes;  // what their processes leave of it (cgroup.h)
  // What this process may hold: the smaller of machine and cgroup.
  int64_t usable_bytes() const;
  // What this process may take in addition now: no more than the machine has available, and no more
  // than the cgroups leave after what all their processes hold.
  int64_t free_bytes() const;
};
MemoryReading read_memory();
// What this process may hold in anonymous and shared pages while it reads data, whose size nobody
// knows before; what reads them looks at it. No limit at first.
void set_memory_ceiling(int64_t bytes);
// By how much the process is above it now; at most 0: it is not.
int64_t bytes_above_ceiling();
// How much of a block is in memory now, in whole pages.
int64_t resident_bytes(const void* data, int64_t bytes);

}  // namespace hone
