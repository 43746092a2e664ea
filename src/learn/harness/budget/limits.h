// Limits of a run's memory by space, and the needs of its plan.
#pragma once

#include <limits>

#include "engine/device/spec.h"
#include "learn/train/settings.h"

namespace hone {

// Bytes for the runtime besides the arenas (code, tokenizer, data); a line of the plan.
inline constexpr int64_t kRuntimeBudget = 192 << 20;

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Bytes for the arenas. Shared: the device's memory is the host's, and `device` limits both.
struct ArenaLimits {
  int64_t device = kNoLimit, host = kNoLimit, disk = kNoLimit;
  bool shared = false;
};

// --device_memory and --host_memory less the runtime's part. Without a flag, a device with memory
// of its own may use all of it, and its host has no limit. If the device is the host, a single flag
// limits the whole run; with both, --device_memory limits the device's arena, and --host_memory the
// host's arena and the runtime. Without a flag the run may take the memory that is free
// now. data_bytes: memory of rows and streams on the host beyond the runtime's budget.
ArenaLimits limits_of(const TrainSettings& s, const DeviceSpec& spec, int64_t data_bytes);

// Rows up to this size are part of the runtime; larger ones have a line of their own in the plan.
inline constexpr int64_t kRowsBudget = 64 << 20;

// Bytes that the process may hold while it reads its rows, before it allocates any arena: the limit
// of the flags, or the free memory, less the data that arrive between two checks.
int64_t reading_ceiling(const TrainSettings& s);

// Needs of a plan, by the spaces that `limits` limit.
struct Needs {
  int64_t device = 0, host = 0, disk = 0;
};
Needs needs_of(const RunPlan& plan, const DeviceSpec& spec, const ArenaLimits& limits);

bool fits(const Needs& needs, const ArenaLimits& limits);
// The excess in the space whose limit is exceeded most; negative if every space has room.
int64_t excess_bytes(const Needs& needs, const ArenaLimits& limits);
// "memory: 3.0 GiB are needed, 2.0 GiB may be used; disk: ..." for the exceeded limits.
std::string excess_text(const Needs& needs, const ArenaLimits& limits);

// H2404 if --device_memory, or its sum with --host_memory, exceeds the memory of this machine or
// its cgroup.
Status check_memory_flags(const TrainSettings& s);

// The folder, or its nearest parent that exists.
std::string existing_folder(const std::string& folder);
// Free bytes on the folder's disk; the folder need not exist yet.
int64_t free_disk_bytes(const std::string& folder);

}  // namespace hone
