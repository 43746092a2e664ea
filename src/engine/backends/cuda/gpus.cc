#include "engine/backends/cuda/gpus.h"

namespace hone::cuda {

Result<Gpu> gpu(const Driver& driver, CUdevice device) {
  Gpu g;
  char name[256] = {};
  size_t bytes = 0;
  HONE_TRY(
      cuda_status(driver, driver.cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName"));
  HONE_TRY(cuda_status(driver, driver.cuDeviceTotalMem(&bytes, device), "cuDeviceTotalMem"));
  for (const auto& [attribute, value] :
       {std::pair{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &g.major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &g.minor}})
    HONE_TRY(cuda_status(driver, driver.cuDeviceGetAttribute(value, attribute, device),
                         "cuDeviceGetAttribute"));
  g.name = name;
  char bus_id[32] = {};
  HONE_TRY(cuda_status(driver, driver.cuDeviceGetPCIBusId(bus_id, sizeof bus_id, device),
                       "cuDeviceGetPCIBusId"));
  g.bus_id = bus_id;
  g.memory_bytes = static_cast<int64_t>(bytes);
  return g;
}

Result<std::vector<Gpu>> gpus(const Driver& driver) {
  std::vector<Gpu> all;
  int count = 0;
  HONE_TRY(cuda_status(driver, driver.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    HONE_TRY(cuda_status(driver, driver.cuDeviceGet(&device, i), "cuDeviceGet"));
    all.push_back(HONE_TRY(gpu(driver, device)));
  }
  return all;
}

}  // namespace hone::cuda
