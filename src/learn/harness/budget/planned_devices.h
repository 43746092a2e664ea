// The devices of a plan: one device of this machine, one that is only known by its data sheet, or several equal ones.
#pragma once

#include "engine/backends/backends.h"

namespace hone {

// Equal devices in equal machines. Several CPU devices of a machine divide its cores and its memory.
struct Cluster {
  DeviceSpec device;
  int64_t count = 1;                                // devices in each machine
  int64_t machines = 1;                             // number of machines
  int64_t all() const { return count * machines; }  // devices in all machines
};
// The largest number of machines; more are error H0203.
inline constexpr int64_t kMostMachines = 65536;

struct PlannedDevices {
  Cluster cluster;
  std::unique_ptr<Backend> here;  // the opened device if it is this machine's, else null
};

// The devices of a name:
//   "H100"             one device
//   "8xA100-80GB"      8 devices in one machine
//   "16x8xA100-80GB"   8 devices in each of 16 machines
//   "2xcpu"            2 ranks on the CPU
//   "v3-8"             a slice of 8 TPU cores
// `threads`: CPU threads of each device; 0: the cores of a machine, divided among its CPU devices. Errors: H0203 there
// is no such device (H0203 then replaces H1402), or a count is not possible; other errors of opening a device of this
// machine.
Result<PlannedDevices> planned_devices(const std::string& name, int threads);

}  // namespace hone
