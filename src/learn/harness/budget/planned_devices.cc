#include "learn/harness/budget/planned_devices.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/core/text.h"
#include "base/settings/errors.h"
#include "engine/device/errors.h"
#include "engine/device/tpus.h"

namespace hone {
namespace {

// Takes a count such as "16x" off the beginning; none: there is no such count.
std::optional<int64_t> take_count(std::string& name) {
  int64_t count = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), count);
  const auto digits = static_cast<size_t>(end - name.data());
  if (failed != std::errc() || digits >= name.size() || to_lower(name.substr(digits, 1)) != "x")
    return std::nullopt;
  name = name.substr(digits + 1);
  return count;
}

Error refused_count(int64_t count, const char* of, int64_t most) {
  return Error(err::kNoBackend, fmt::format("there are no {} {}", count, of))
      .todo(fmt::format("give a count from 1 to {}", most));
}

// All devices of a slice are neighbours, as those of one machine.
Result<Cluster> cluster_of(const TpuSlice& slice) {
  if (slice.devices < 1 || slice.devices > kMostDevices)
    return refused_count(slice.devices, (slice.device->name + " in a slice").c_str(), kMostDevices);
  return Cluster{.device = *slice.device, .count = slice.devices};
}

Result<Cluster> cluster_named(const std::string& name, const BackendOptions& options) {
  if (const TpuSlice slice = tpu_slice(name); slice.device != nullptr) return cluster_of(slice);
  std::string device = name, devices = name;
  Cluster c;
  if (const auto first = take_count(device)) {
    const std::string rest = device;
    const auto second = take_count(device);
    c.count = second.value_or(*first);
    if (second) {
      c.machines = *first;
      devices = rest;
    }
  }
  if (c.machines < 1 || c.machines > kMostMachines)
    return refused_count(c.machines, "machines", kMostMachines);
  if (to_lower(device) != "cpu") {
    c.device = HONE_TRY(device_group(devices, options)).device;
    return c;
  }
  if (c.count < 1 || c.count > kMostDevices) return refused_count(c.count, "devices", kMostDevices);
  c.device = HONE_TRY(device_spec(device, options));
  return c;
}

}  // namespace

Result<PlannedDevices> planned_devices(const std::string& name, int threads) {
  BackendOptions options{.threads = threads};
  Result<Cluster> cluster = cluster_named(name, options);
  if (cluster.ok() && cluster->device.name == "cpu") {
    // Ranks of a machine divide its cores, unless threads are given.
    if (cluster->count > 1 && threads == 0)
      options.threads = std::max(1, cluster->device.threads / static_cast<int>(cluster->count));
    auto cpu = HONE_TRY(open_backend("cpu", options));
    cluster->device = cpu->spec();
    return PlannedDevices{*cluster, std::move(cpu)};
  }
  if (cluster.ok()) return PlannedDevices{*cluster, nullptr};
  auto opened = open_device(name, options);
  if (opened.ok()) {
    for (const BackendKind& k : backend_kinds())
      if (k.chooser && k.name == (*opened)->spec().kernels)
        return PlannedDevices{{(*opened)->spec()}, std::move(*opened)};
  } else if (!opened.error().is(err::kNoBackend)) {
    return opened.error();
  }
  return Error(err::kSettingChoice, fmt::format("device: {}", cluster.error().what()))
      .at("--device " + name)
      .todo(cluster.error().remedy());
}

}  // namespace hone
