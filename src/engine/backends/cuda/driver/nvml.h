// NVIDIA's management library as far as hone calls it: what a GPU has free and how it is connected, without a
// context on it. Names and arguments are those of the NVML API reference; its header is not needed.
#pragma once

#include <optional>
#include <string>

#include "engine/backends/cuda/driver/driver.h"

namespace hone::cuda {

using nvmlDevice_t = struct nvmlDevice_st*;
struct nvmlMemory_t {
  unsigned long long total, free, used;
};

// Every function returns 0, or a code.
struct Nvml {
#define HONE_NVML(name, symbol, arguments) int(*name) arguments = nullptr;
#include "engine/backends/cuda/driver/nvml.def"
#undef HONE_NVML
};

// The machine's library, initialised; nothing where there is none. HONE_NVML names another file.
std::optional<Nvml> load_nvml();

// What is not known is 0.
struct GpuLinks {
  int64_t free_bytes = 0;
  int pcie_generation = 0, pcie_width = 0;
  int nvlinks = 0;           // that are active
  std::string text() const;  // "70.1 GiB free, PCIe 5 x16, 18 NVLinks"; "" where nothing is known
};
// bus_id: as cuDeviceGetPCIBusId says it.
GpuLinks links_of(const Nvml& nvml, const std::string& bus_id);
std::string driver_version(const Nvml& nvml);  // "580.65.06", "" where it is not known

}  // namespace hone::cuda
