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
  std::optional<int64_t> limit_bytes;  // of the innermost cgroup that sets one
  // What this process may hold: the smaller of machine and cgroup.
  int64_t usable_bytes() const;
};
MemoryReading read_memory();
// How much of a block is in memory now, in whole pages.
int64_t resident_bytes(const void* data, int64_t bytes);

}  // namespace hone
