// Memory of this process, and the memory that the machine and its cgroup leave it.
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
  std::optional<int64_t> group_free_bytes;  // the part that their processes leave free (cgroup.h)
  // Memory that this process may hold: the smaller of machine and cgroup.
  int64_t usable_bytes() const;
  // Further memory that this process may take now: at most the machine's available memory, and at
  // most the rest of the cgroups' limits after all their processes.
  int64_t free_bytes() const;
};
MemoryReading read_memory();
// Limits anonymous and shared pages of this process while it reads data of unknown size; readers
// check it. There is no limit at first.
void set_memory_ceiling(int64_t bytes);
// Bytes by which the process exceeds that limit now; at most 0 if it does not.
int64_t bytes_above_ceiling();
// Bytes of a block that are in memory now, in whole pages.
int64_t resident_bytes(const void* data, int64_t bytes);

}  // namespace hone
