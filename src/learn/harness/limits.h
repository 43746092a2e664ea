// What a run may take of each space, and what its plan takes of it.
#pragma once

#include <limits>

#include "engine/device/spec.h"
#include "learn/train/settings.h"

namespace hone {

// Bytes of the runtime besides the arenas (code, tokenizer, data): the plan's own line.
inline constexpr int64_t kRuntimeBudget = 192 << 20;

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Bytes for the arenas. Shared: the device's memory is the host's, and `device` limits both.
struct ArenaLimits {
  int64_t device = kNoLimit, host = kNoLimit, disk = kNoLimit;
  bool shared = false;
};

// --device_memory and --host_memory less what the runtime takes of them. A device with memory of its
// own has all of it without a flag, and its host no limit. Where the device is the host, either flag
// limits all that the run takes; both limit the device's arena, and the host's with the runtime.
// Without a flag it may take what is free now. data_bytes: what rows and streams take on the host
// beside the runtime's budget.
ArenaLimits limits_of(const TrainSettings& s, const DeviceSpec& spec, int64_t data_bytes);

// Rows of that size in memory are part of the runtime; more have a line of their own in the plan.
inline constexpr int64_t kRowsBudget = 64 << 20;

// What the process may hold while it reads its rows, before it takes any arena: what the flags allow
// it, or what is free, less what is in flight between two looks at it.
int64_t reading_ceiling(const TrainSettings& s);

// What the plan takes of what `limits` limit.
struct Needs {
  int64_t device = 0, host = 0, disk = 0;
};
Needs needs_of(const RunPlan& plan, const DeviceSpec& spec, const ArenaLimits& limits);

bool fits(const Needs& needs, const ArenaLimits& limits);
// For the space whose limit is exceeded most; negative where there is room in each.
int64_t excess_bytes(const Needs& needs, const ArenaLimits& limits);
// "memory: 3.0 GiB are needed, 2.0 GiB may be used; disk: ..." of the limits that are exceeded.
std::string excess_text(const Needs& needs, const ArenaLimits& limits);

// H2404 when --device_memory, or it and --host_memory, are more than this machine, or its cgroup,
// has.
Status check_memory_flags(const TrainSettings& s);

// The folder, or the nearest one above it that is there.
std::string existing_folder(const std::string& folder);
// Free bytes of the disk where the folder is, or will be.
int64_t free_disk_bytes(const std::string& folder);

}  // namespace hone
