#include "engine/backends/cuda/libraries/nvml.h"

#include "base/core/text.h"
#include "engine/backends/cuda/libraries/library.h"

namespace hone::cuda {

std::optional<Nvml> load_nvml() {
  constexpr const char* kNames[] = {"libnvidia-ml.so.1", "libnvidia-ml.so"};
  std::string why;
  const std::optional<Module> library = load_library("HONE_NVML", kNames, 0, why);
  if (!library) return std::nullopt;
  Nvml nvml;
#define HONE_NVML(name, exported, arguments) \
  if (const auto f = library->symbol<int(*) arguments>(exported)) nvml.name = f;
#include "engine/backends/cuda/libraries/nvml.def"
#undef HONE_NVML
  if (nvml.init() != 0) return std::nullopt;
  return nvml;
}

GpuLinks links_of(const Nvml& nvml, const std::string& bus_id) {
  GpuLinks links;
  nvmlDevice_t device = nullptr;
  if (nvml.device_by_bus_id(bus_id.c_str(), &device) != 0) return links;
  nvmlMemory_t memory{};
  if (nvml.memory(device, &memory) == 0) links.free_bytes = static_cast<int64_t>(memory.free);
  unsigned generation = 0, width = 0;
  if (nvml.pcie_generation(device, &generation) == 0)
    links.pcie_generation = static_cast<int>(generation);
  if (nvml.pcie_width(device, &width) == 0) links.pcie_width = static_cast<int>(width);
  constexpr unsigned kMostLinks = 18;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    int is_active = 0;
    if (nvml.nvlink_state(device, link, &is_active) == 0 && is_active == 1) ++links.nvlinks;
  }
  return links;
}

std::string GpuLinks::text() const {
  std::vector<std::string> parts;
  if (free_bytes > 0) parts.push_back(format_bytes(free_bytes) + " free");
  if (pcie_generation > 0) parts.push_back(fmt::format("PCIe {} x{}", pcie_generation, pcie_width));
  if (nvlinks > 0) parts.push_back(fmt::format("{} NVLinks", nvlinks));
  return join(parts, ", ");
}

std::string driver_version(const Nvml& nvml) {
  char text[80] = {};
  return nvml.driver_version(text, sizeof text) == 0 ? text : "";
}

}  // namespace hone::cuda
