// NVIDIA's management library, loaded when it is there: libnvidia-ml.so.1 comes with the driver.
//   https://docs.nvidia.com/deploy/nvml-api/
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hone {

// What a card says of itself; -1: it does not say it.
struct GpuUsage {
  int64_t index = 0;
  std::string name = {}, uuid = {};
  double busy_share = -1;         // of the last sample period in which a kernel ran, 0 to 1
  double memory_busy_share = -1;  // in which memory was read or written
  int64_t memory_used_bytes = -1, memory_free_bytes = -1, memory_total_bytes = -1;
  double power_watts = -1, energy_joules = -1;  // energy: since the driver was loaded
  double temperature_celsius = -1;
  double sm_clock_mhz = -1, memory_clock_mhz = -1;
};

class Nvml {
 public:
  // Null where the library or a driver is missing. HONE_NVML_LIBRARY names another file.
  static std::unique_ptr<Nvml> open();
  ~Nvml();
  Nvml(const Nvml&) = delete;

  // The devices that CUDA_VISIBLE_DEVICES lets this process see, by index or UUID; all without it.
  std::vector<GpuUsage> read();

 private:
  struct Functions;
  Nvml(void* library, std::unique_ptr<Functions> functions);
  void* library_;
  std::unique_ptr<Functions> functions_;
  struct Gpu {
    void* handle;
    int64_t index;
    std::string name, uuid;
  };
  std::vector<Gpu> gpus_;
};

}  // namespace hone
