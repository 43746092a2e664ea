#include "learn/harness/budget/limits.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>

#include "base/core/memory.h"
#include "base/core/text.h"
#include "learn/harness/budget/errors.h"
#include "learn/train/run_ranks.h"

namespace hone {
namespace {

int64_t size_or(const std::optional<ByteSize>& flag, int64_t other) {
  return flag ? static_cast<int64_t>(flag->bytes) : other;
}

struct Line {
  const char* space;
  int64_t needed, allowed;
};
std::array<Line, 3> lines_of(const Needs& needs, const ArenaLimits& limits) {
  return {{{limits.shared ? "memory" : "device", needs.device, limits.device},
           {"host", needs.host, limits.host},
           {"disk", needs.disk, limits.disk}}};
}

}  // namespace

ArenaLimits limits_of(const TrainSettings& s, const DeviceSpec& spec, int64_t data_bytes) {
  const int64_t runtime = kRuntimeBudget + data_bytes;
  ArenaLimits l;
  if (spec.own_memory) {
    l.device = size_or(s.device_memory, spec.memory_bytes) - spec.runtime_bytes;
    if (s.host_memory) l.host = size_or(s.host_memory, 0) - runtime;
  } else if (s.device_memory && s.host_memory) {
    l.device = size_or(s.device_memory, 0);
    l.host = size_or(s.host_memory, 0) - runtime;
  } else {
    l.shared = true;
    const auto& flag = s.device_memory ? s.device_memory : s.host_memory;
    const MemoryReading now = read_memory();  // memory held so far belongs to the runtime
    l.device = (flag ? size_or(flag, 0)
                     : now.rss_anon_bytes + now.rss_shmem_bytes +
                           now.free_bytes() / s.ranks->local_ranks()) -
               runtime;
  }
  return l;
}

int64_t reading_ceiling(const TrainSettings& s) {
  constexpr int64_t kInFlight = 64 << 20;  // a batch of texts and its tokens
  const MemoryReading now = read_memory();
  int64_t most = now.rss_anon_bytes + now.rss_shmem_bytes + now.free_bytes();
  if (s.device_memory && !s.host_memory) most = std::min(most, size_or(s.device_memory, 0));
  if (s.host_memory) most = std::min(most, size_or(s.host_memory, 0));
  return std::max<int64_t>(most - kInFlight, kRowsBudget);
}

Needs needs_of(const RunPlan& plan, const DeviceSpec& spec, const ArenaLimits& limits) {
  Needs n{plan.arena_bytes(Space::device), plan.arena_bytes(Space::host),
          plan.arena_bytes(Space::disk)};
  if (limits.shared) n.device += std::exchange(n.host, 0);
  if (spec.own_memory) n.host += plan.io_bytes;  // a copy of inputs and outputs
  return n;
}

bool fits(const Needs& needs, const ArenaLimits& limits) {
  return excess_bytes(needs, limits) <= 0;
}

int64_t excess_bytes(const Needs& needs, const ArenaLimits& limits) {
  int64_t most = std::numeric_limits<int64_t>::min();
  for (const Line& line : lines_of(needs, limits))
    if (line.allowed != kNoLimit) most = std::max(most, line.needed - line.allowed);
  return most;
}

std::string excess_text(const Needs& needs, const ArenaLimits& limits) {
  std::vector<std::string> texts;
  for (const Line& line : lines_of(needs, limits))
    if (line.allowed != kNoLimit && line.needed > line.allowed)
      texts.push_back(fmt::format("{}: {} needed, {} may be used", line.space,
                                  format_bytes(line.needed),
                                  format_bytes(std::max<int64_t>(line.allowed, 0))));
  return join(texts, "; ");
}

Status check_memory_flags(const TrainSettings& s) {
  if (!s.device_memory && !s.host_memory) return Ok{};
  const int64_t most = read_memory().usable_bytes();
  const int64_t asked = size_or(s.device_memory, 0) + size_or(s.host_memory, 0);
  if (asked <= most) return Ok{};
  const std::string flags = !s.host_memory     ? "--device_memory"
                            : !s.device_memory ? "--host_memory"
                                               : "--device_memory and --host_memory";
  return Error(err::kDoesNotFit, fmt::format("{} are more than the {} that this machine has",
                                             format_bytes(asked), format_bytes(most)))
      .at(flags)
      .todo("give less, or leave the flag out: the run then takes what is free");
}

std::string existing_folder(const std::string& folder) {
  std::filesystem::path path = std::filesystem::absolute(folder.empty() ? "." : folder);
  std::error_code failed;
  while (!std::filesystem::is_directory(path, failed) && path != path.parent_path())
    path = path.parent_path();
  return path.string();
}

int64_t free_disk_bytes(const std::string& folder) {
  if (folder.find("://") != std::string::npos) return kNoLimit;  // a bucket has room
  struct statvfs s {};
  if (statvfs(existing_folder(folder).c_str(), &s) != 0) return kNoLimit;
  return static_cast<int64_t>(s.f_bavail) * static_cast<int64_t>(s.f_frsize);
}

}  // namespace hone
