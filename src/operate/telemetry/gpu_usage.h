// Use of NVIDIA's GPUs, from their management library (NVML).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/backends/cuda/libraries/nvml.h"

namespace hone {

// A card's own readings; -1: not reported.
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

class GpuReader {
 public:
  // Null if the library or a driver is missing.
  static std::unique_ptr<GpuReader> open();

  // The devices that CUDA_VISIBLE_DEVICES lets this process see, by index or UUID; all without it.
  std::vector<GpuUsage> read() const;

 private:
  explicit GpuReader(const cuda::Nvml& nvml);
  struct Gpu {
    cuda::nvmlDevice_t handle;
    int64_t index;
    std::string name, uuid;
  };
  cuda::Nvml nvml_;
  std::vector<Gpu> gpus_;
};

}  // namespace hone
