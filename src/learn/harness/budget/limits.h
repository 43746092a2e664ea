// The memory that a run may use in each space (device, host, disk), and the memory that its plan needs there. An arena
// is the one block of memory in a space that holds all states and values of the run.
#pragma once

#include <limits>

#include "engine/device/spec.h"
#include "learn/train/settings.h"

namespace hone {

// Bytes that are reserved for the runtime besides the arenas: code, tokenizer, data. A printed plan shows them on their
// own line.
inline constexpr int64_t kRuntimeBudget = 192 << 20;

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// The largest number of bytes that the arena of each space may take; kNoLimit: any number.
struct ArenaLimits {
  int64_t device = kNoLimit, host = kNoLimit, disk = kNoLimit;
  // True: the device computes in the host's memory, as a CPU does, and `device` limits the arenas of device and host
  // together.
  bool shared = false;
};

// The limits that --device_memory and --host_memory give, minus the memory of the runtime.
//   device with its own memory   --device_memory limits the device (default: all of its memory); --host_memory limits
//                                the host's arena and the runtime together (default: no limit)
//   CPU, both flags              --device_memory limits the device's arena; --host_memory limits the host's arena
//                                and the runtime together
//   CPU, one of the flags        the flag limits the arenas and the runtime together
//   CPU, no flag                 arenas and runtime together may take the memory that is free now, divided among the
//                                ranks of this machine, plus the memory that the process has now
// data_bytes: host memory of rows and streams that kRuntimeBudget does not include.
ArenaLimits limits_of(const TrainSettings& s, const DeviceSpec& spec, int64_t data_bytes);

// The bytes of rows that kRuntimeBudget includes. If the rows need more, a printed plan shows them on their own line.
inline constexpr int64_t kRowsBudget = 64 << 20;

// The largest number of bytes that the process may have in memory while it reads its rows, before it allocates any
// arena. It is the smaller one of two numbers, minus 64 MiB for data that are read between two checks: the limit that
// the flags give, and the free memory plus the memory that the process already has. Never less than kRowsBudget.
int64_t reading_ceiling(const TrainSettings& s);

// Bytes that a plan needs in each space. If `limits.shared`, `device` includes the bytes of the host.
struct Needs {
  int64_t device = 0, host = 0, disk = 0;
};
Needs needs_of(const RunPlan& plan, const DeviceSpec& spec, const ArenaLimits& limits);

bool fits(const Needs& needs, const ArenaLimits& limits);
// The largest of needs - limit over the spaces that have a limit, in bytes. 0 or negative: the run fits into every
// space.
int64_t excess_bytes(const Needs& needs, const ArenaLimits& limits);
// "memory: 3.0 GiB needed, 2.0 GiB may be used; disk: ..." for the exceeded limits; "" if the run fits.
std::string excess_text(const Needs& needs, const ArenaLimits& limits);

// Returns H2404 if the sum of --device_memory and --host_memory exceeds the memory of this machine or of its cgroup. An
// unset flag counts as 0.
Status check_memory_flags(const TrainSettings& s);

// The absolute path of `folder` or, if it does not exist, of its nearest parent that exists. `folder` "": the current
// folder.
std::string existing_folder(const std::string& folder);
// Free bytes on the folder's disk; the folder need not exist yet. kNoLimit: the folder is a URL, or the number is
// unknown.
int64_t free_disk_bytes(const std::string& folder);

}  // namespace hone
