// The devices of a plan: one of this machine, another one, or several equal ones.
#pragma once

#include "engine/backends/backends.h"

namespace hone {

// Equal devices in equal machines. Several devices of a CPU are shares of its cores and its memory.
struct Cluster {
  DeviceSpec device;
  int64_t count = 1;  // in each machine
  int64_t machines = 1;
  int64_t all() const { return count * machines; }
};
inline constexpr int64_t kMostMachines = 65536;

struct PlannedDevices {
  Cluster cluster;
  std::unique_ptr<Backend> here;  // the device itself if it is this machine's, else null
};

// "H100", "8xA100-80GB", "16x8xA100-80GB" in 16 machines, "2xcpu", "v3-8" (a slice of TPUs). Errors: H0203 without such a device
// (in the place of H1402); those of opening it.
Result<PlannedDevices> planned_devices(const std::string& name, int threads);

}  // namespace hone
