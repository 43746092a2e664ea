// NVIDIA's management library as far as hone calls it: what a GPU has free, how it is connected and used, without
// a context on it. Names and arguments are those of the NVML API reference; its header is not needed.
//   https://docs.nvidia.com/deploy/nvml-api/
#pragma once

#include <optional>
#include <string>

#include "engine/backends/cuda/libraries/driver.h"

namespace hone::cuda {

using nvmlDevice_t = struct nvmlDevice_st*;
struct nvmlMemory_t {
  unsigned long long total, free, used;
};
struct nvmlUtilization_t {
  unsigned gpu, memory;
};
inline constexpr int NVML_ERROR_FUNCTION_NOT_FOUND = 13;
inline constexpr int NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2;

// Stands for a function that the library does not have, as older ones lack some.
template <class... Arguments>
int absent_in_nvml(Arguments...) {
  return NVML_ERROR_FUNCTION_NOT_FOUND;
}

// Every function returns 0, or a code.
struct Nvml {
#define HONE_NVML(name, symbol, arguments) int(*name) arguments = absent_in_nvml;
#include "engine/backends/cuda/libraries/nvml.def"
#undef HONE_NVML
};

// The machine's library, initialised; none if it is not installed. HONE_NVML names another file.
std::optional<Nvml> load_nvml();

// Unknown values are 0.
struct GpuLinks {
  int64_t free_bytes = 0;
  int pcie_generation = 0, pcie_width = 0;
  int nvlinks = 0;           // that are active
  std::string text() const;  // "70.1 GiB free, PCIe 5 x16, 18 NVLinks"; "": unknown
};
// bus_id: in the form of cuDeviceGetPCIBusId.
GpuLinks links_of(const Nvml& nvml, const std::string& bus_id);
std::string driver_version(const Nvml& nvml);  // "580.65.06"; "": unknown

}  // namespace hone::cuda
