// Lines of `hone doctor` about the backends and devices of this machine.
#pragma once

#include "base/core/probe.h"
#include "engine/device/spec.h"

namespace hone {

Probe probe_backends();  // names of backends, and of devices that `hone plan` knows
Probe probe_kernels(const DeviceSpec& cpu);  // the CPU's instruction set and number of threads
// Devices that no backend of this build can use, found by their drivers' files, such as /dev/kfd.
Probe probe_accelerators();

}  // namespace hone
