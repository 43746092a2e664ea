#include "base/core/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/cgroup.h"
#include "base/core/text.h"

namespace hone {
namespace {
// The number after "key:" in a file of "key: N kB" lines, in bytes.
int64_t field_bytes(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = trim(text.substr(at + key.size(), 64));
  int64_t kib = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), kib);
  return kib * 1024;
}

std::atomic<int64_t> ceiling = std::numeric_limits<int64_t>::max();
}  // namespace

int64_t MemoryReading::usable_bytes() const {
  return limit_bytes ? std::min(*limit_bytes, total_bytes) : total_bytes;
}

int64_t MemoryReading::free_bytes() const {
  int64_t free = available_bytes;
  if (limit_bytes) free = std::min(free, *limit_bytes - rss_anon_bytes - rss_shmem_bytes);
  if (group_free_bytes) free = std::min(free, *group_free_bytes);
  return free;
}

MemoryReading read_memory() {
  MemoryReading m;
  if (Result<std::string> status = read_file("/proc/self/status"); status.ok()) {
    m.rss_anon_bytes = field_bytes(*status, "RssAnon:");
    m.rss_shmem_bytes = field_bytes(*status, "RssShmem:");
    m.rss_file_bytes = field_bytes(*status, "RssFile:");
    m.rss_peak_bytes = field_bytes(*status, "VmHWM:");
  }
  if (Result<std::string> machine = read_file("/proc/meminfo"); machine.ok()) {
    m.total_bytes = field_bytes(*machine, "MemTotal:");
    m.available_bytes = field_bytes(*machine, "MemAvailable:");
  }
  const Cgroup group = read_cgroup();
  m.limit_bytes = group.memory_limit_bytes;
  m.group_free_bytes = group.memory_free_bytes;
  return m;
}

void set_memory_ceiling(int64_t bytes) { ceiling = bytes; }

int64_t bytes_above_ceiling() {
  const int64_t most = ceiling;
  if (most == std::numeric_limits<int64_t>::max()) return 0;
  const Result<std::string> status = read_file("/proc/self/status");
  if (!status.ok()) return 0;
  return field_bytes(*status, "RssAnon:") + field_bytes(*status, "RssShmem:") - most;
}

int64_t resident_bytes(const void* data, int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> pages(1 << 16);
  int64_t resident = 0;
  const auto into_page =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(page));
  for (int64_t begin = -into_page; begin < bytes;
       begin += page * static_cast<int64_t>(pages.size())) {
    const int64_t some = std::min(bytes - begin, page * static_cast<int64_t>(pages.size()));
    auto* from = static_cast<char*>(const_cast<void*>(data)) + begin;
    if (mincore(from, static_cast<size_t>(some), pages.data()) != 0) return resident;
    const auto end = pages.begin() + (some + page - 1) / page;
    resident += page * std::count_if(pages.begin(), end, [](unsigned char p) { return p & 1; });
  }
  return std::min(resident, bytes);
}

}  // namespace hone
