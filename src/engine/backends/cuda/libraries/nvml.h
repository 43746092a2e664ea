// The part of NVML, NVIDIA's management library, that hone calls: free memory, links and utilization of a GPU, without
// a CUDA context. Names and arguments are those of the NVML API reference; NVML's header is not needed.
//   https://docs.nvidia.com/deploy/nvml-api/
#pragma once

#include <optional>
#include <string>

#include "engine/backends/cuda/libraries/driver.h"

namespace hone::cuda {

using nvmlDevice_t = struct nvmlDevice_st*;
struct nvmlMemory_t {
  unsigned long long total, free, used;  // bytes
};
struct nvmlUtilization_t {
  unsigned gpu, memory;  // percent
};
inline constexpr int NVML_ERROR_FUNCTION_NOT_FOUND = 13;
inline constexpr int NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2;

// Stands for a function that the installed library lacks; older versions lack some.
template <class... Arguments>
int absent_in_nvml(Arguments...) {
  return NVML_ERROR_FUNCTION_NOT_FOUND;
}

// The functions of nvml.def, which names their units. Every function returns 0, or NVML's error code.
struct Nvml {
#define HONE_NVML(name, symbol, arguments) int(*name) arguments = absent_in_nvml;
#include "engine/backends/cuda/libraries/nvml.def"
#undef HONE_NVML
};

// Loads and initializes the library at the path in the environment variable HONE_NVML, else the machine's library.
// None: the library is missing or does not start.
std::optional<Nvml> load_nvml();

// Free memory and links of a GPU. Unknown values are 0.
struct GpuLinks {
  int64_t free_bytes = 0;
  int pcie_generation = 0, pcie_width = 0;  // the largest that GPU and slot support; width in lanes
  int nvlinks = 0;                          // number of active NVLinks
  std::string text() const;  // "70.1 GiB free, PCIe 5 x16, 18 NVLinks", without unknown values
};
// bus_id: Gpu::bus_id, such as "0000:01:00.0".
GpuLinks links_of(const Nvml& nvml, const std::string& bus_id);
std::string driver_version(const Nvml& nvml);  // "580.65.06"; "": unknown

}  // namespace hone::cuda
