#include "base/core/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

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

std::optional<int64_t> number_in(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text.ok()) return std::nullopt;
  std::string_view digits = trim(*text);
  int64_t n = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  // Version 1 writes "no limit" as nearly 2^63.
  if (error != std::errc() || n <= 0 || n >= (int64_t{1} << 60)) return std::nullopt;
  return n;
}

// Walks from our cgroup to the root and takes the smallest limit.
std::optional<int64_t> control_group_limit() {
  Result<std::string> groups = read_file("/proc/self/cgroup");
  if (!groups.ok()) return std::nullopt;
  std::optional<int64_t> least;
  for (const std::string& line : split(*groups, '\n')) {
    std::vector<std::string> part = split(line, ':');  // id:controllers:path
    if (part.size() < 3) continue;
    bool v2 = part[1].empty();
    if (!v2 && ("," + part[1] + ",").find(",memory,") == std::string::npos) continue;
    std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* file = v2 ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::string path = part[2] == "/" ? "" : part[2];; path.resize(path.rfind('/'))) {
      if (std::optional<int64_t> n = number_in(root + path + file)) {
        least = least ? std::min(*least, *n) : *n;
      }
      if (path.empty() || path.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}
}  // namespace

int64_t MemoryReading::usable_bytes() const {
  return limit_bytes ? std::min(*limit_bytes, total_bytes) : total_bytes;
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
  m.limit_bytes = control_group_limit();
  return m;
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
