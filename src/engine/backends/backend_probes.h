// Devices that compute on this machine, for `hone doctor`.
#pragma once

#include "base/core/probe.h"
#include "engine/device/spec.h"

namespace hone {

Probe probe_backends();  // the shelf, and the devices that it plans for
Probe probe_kernels(const DeviceSpec& cpu);
// Devices that no backend of this build uses, found by what their drivers leave in the file system.
Probe probe_accelerators();

}  // namespace hone
