// The device that a plan is for: this machine's, another one, or several.
#pragma once

#include "engine/backends/backends.h"

namespace hone {

struct PlannedDevices {
  DeviceGroup group;
  std::unique_ptr<Backend> here;  // the device itself if it is this machine's, else null
};

// By the name that --device takes. Errors: H0203 without such a device (in the place of H1402);
// those of opening it.
Result<PlannedDevices> planned_devices(const std::string& name, int threads);

}  // namespace hone
