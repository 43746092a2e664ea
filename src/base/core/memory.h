// Reads the memory that this process uses, and the memory that the machine and the cgroups (base/core/cgroup.h) leave
// to it.
#pragma once

#include <cstdint>
#include <optional>

namespace hone {

struct MemoryReading {
  // Resident memory of this process, from /proc/self/status; 0: unknown.
  int64_t rss_anon_bytes = 0;   // RssAnon: anonymous pages
  int64_t rss_shmem_bytes = 0;  // RssShmem: shared memory
  int64_t rss_file_bytes = 0;   // RssFile: pages of mapped files
  int64_t rss_peak_bytes = 0;   // VmHWM: the largest sum of the three so far
  // Memory of the machine, from /proc/meminfo; 0: unknown.
  int64_t total_bytes = 0;      // MemTotal
  int64_t available_bytes = 0;  // MemAvailable
  // Cgroup::memory_limit_bytes and Cgroup::memory_free_bytes; nullopt: no limit.
  std::optional<int64_t> limit_bytes;
  std::optional<int64_t> group_free_bytes;
  // The memory that this process may hold: the smaller of the machine's memory and the cgroups' limit.
  int64_t usable_bytes() const;
  // The further memory that this process may take now: the minimum of the machine's available memory, the limit less
  // the anonymous and shared pages of this process, and the memory that all processes of the cgroups leave free.
  int64_t free_bytes() const;
};
MemoryReading read_memory();
// Sets a ceiling for the bytes of anonymous and shared pages of this process, for readers of data of unknown size. The
// ceiling is not enforced: a reader calls bytes_above_ceiling() and stops itself. At start there is no ceiling.
void set_memory_ceiling(int64_t bytes);
// The bytes by which this process exceeds the ceiling now; 0 or negative if it does not exceed it or there is no
// ceiling.
int64_t bytes_above_ceiling();
// The bytes of the block [data, data + bytes) that are in memory now; counts whole pages, at most `bytes`.
int64_t resident_bytes(const void* data, int64_t bytes);

}  // namespace hone
