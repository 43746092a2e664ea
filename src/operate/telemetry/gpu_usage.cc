#include "operate/telemetry/gpu_usage.h"

#include <array>

#include "base/core/text.h"

namespace hone {
namespace {

// Is it among those of CUDA_VISIBLE_DEVICES? A UUID may be shortened there.
bool is_visible(int64_t index, const std::string& uuid) {
  const std::string names = environment("CUDA_VISIBLE_DEVICES");
  if (names.empty()) return true;
  for (const std::string_view part : split(names, ',')) {
    const std::string_view name = trim(part);
    if (name == std::to_string(index) || (name.size() > 4 && uuid.starts_with(name))) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<GpuReader> GpuReader::open() {
  const std::optional<cuda::Nvml> nvml = cuda::load_nvml();
  return nvml ? std::unique_ptr<GpuReader>(new GpuReader(*nvml)) : nullptr;
}

GpuReader::GpuReader(const cuda::Nvml& nvml) : nvml_(nvml) {
  unsigned count = 0;
  if (nvml_.count(&count) != 0) return;
  for (unsigned i = 0; i < count; ++i) {
    Gpu gpu{nullptr, i, "", ""};
    std::array<char, 97> text{};
    if (nvml_.device_by_index(i, &gpu.handle) != 0) continue;
    if (nvml_.name(gpu.handle, text.data(), text.size() - 1) == 0) gpu.name = text.data();
    text = {};
    if (nvml_.uuid(gpu.handle, text.data(), text.size() - 1) == 0) gpu.uuid = text.data();
    if (is_visible(i, gpu.uuid)) gpus_.push_back(std::move(gpu));
  }
}

std::vector<GpuUsage> GpuReader::read() const {
  std::vector<GpuUsage> all;
  for (const Gpu& gpu : gpus_) {
    GpuUsage& u = all.emplace_back();
    u.index = gpu.index;
    u.name = gpu.name;
    u.uuid = gpu.uuid;
    cuda::nvmlUtilization_t percent{};
    if (nvml_.utilization(gpu.handle, &percent) == 0) {
      u.busy_share = percent.gpu / 100.0;
      u.memory_busy_share = percent.memory / 100.0;
    }
    cuda::nvmlMemory_t memory{};
    if (nvml_.memory(gpu.handle, &memory) == 0) {
      u.memory_total_bytes = static_cast<int64_t>(memory.total);
      u.memory_used_bytes = static_cast<int64_t>(memory.used);
      u.memory_free_bytes = static_cast<int64_t>(memory.free);
    }
    unsigned x = 0;
    unsigned long long energy = 0;
    if (nvml_.power(gpu.handle, &x) == 0) u.power_watts = x / 1e3;
    if (nvml_.energy(gpu.handle, &energy) == 0) u.energy_joules = static_cast<double>(energy) / 1e3;
    if (nvml_.temperature(gpu.handle, cuda::NVML_TEMPERATURE_GPU, &x) == 0)
      u.temperature_celsius = x;
    if (nvml_.clock(gpu.handle, cuda::NVML_CLOCK_SM, &x) == 0) u.sm_clock_mhz = x;
    if (nvml_.clock(gpu.handle, cuda::NVML_CLOCK_MEM, &x) == 0) u.memory_clock_mhz = x;
  }
  return all;
}

}  // namespace hone
