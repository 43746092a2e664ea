#include "learn/harness/budget/planned_devices.h"

#include "base/settings/errors.h"
#include "engine/device/errors.h"

namespace hone {

Result<PlannedDevices> planned_devices(const std::string& name, int threads) {
  const BackendOptions options{.threads = threads};
  Result<DeviceGroup> group = device_group(name, options);
  if (group.ok() && group->device.name == "cpu") {
    auto cpu = HONE_TRY(open_backend("cpu", options));
    return PlannedDevices{*group, std::move(cpu)};
  }
  if (group.ok()) return PlannedDevices{*group, nullptr};
  auto opened = open_device(name, options);
  if (opened.ok()) {
    for (const BackendKind& k : backend_kinds())
      if (k.chooser && k.name == (*opened)->spec().kernels)
        return PlannedDevices{{(*opened)->spec(), 1}, std::move(*opened)};
  } else if (!opened.error().is(err::kNoBackend)) {
    return opened.error();
  }
  return Error(err::kSettingChoice, fmt::format("device: {}", group.error().what()))
      .at("--device " + name)
      .todo(group.error().remedy());
}

}  // namespace hone
