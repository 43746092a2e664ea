// Reads the use of NVIDIA's GPUs from their management library (NVML).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/backends/cuda/libraries/nvml.h"

namespace hone {

// The values that one GPU reports; -1: the GPU does not report the value.
struct GpuUsage {
  int64_t index = 0;  // NVML's index, in the order of the PCI bus
  std::string name = {}, uuid = {};
  // Share of NVML's last sample period in which a kernel ran, 0 to 1.
  double busy_share = -1;
  // Share of NVML's last sample period in which the GPU's memory was read or written, 0 to 1.
  double memory_busy_share = -1;
  int64_t memory_used_bytes = -1, memory_free_bytes = -1, memory_total_bytes = -1;
  double power_watts = -1, energy_joules = -1;  // energy_joules: since the driver was loaded
  double temperature_celsius = -1;
  double sm_clock_mhz = -1, memory_clock_mhz = -1;
};

class GpuReader {
 public:
  // Null if NVML or the driver is missing.
  static std::unique_ptr<GpuReader> open();

  // Reads the GPUs whose index or UUID was in CUDA_VISIBLE_DEVICES at open(); all GPUs if the variable was unset or
  // empty.
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
