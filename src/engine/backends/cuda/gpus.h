// The driver's list of this machine's NVIDIA GPUs.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "engine/backends/cuda/libraries/driver.h"

namespace hone::cuda {

struct Gpu {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int64_t memory_bytes = 0;
  std::string bus_id;  // "0000:01:00.0", for links_of
  bool is_usable() const { return major >= kOldestMajor; }
  // The architecture that kernels are compiled for. 9.0 has instructions that no later GPU has (wgmma): sm_90a.
  std::string isa() const {
    return fmt::format("sm_{}{}{}", major, minor, major == 9 && minor == 0 ? "a" : "");
  }
  static constexpr int kOldestMajor = 7;
};

// In the order of their ordinals. Error H1342.
Result<std::vector<Gpu>> gpus(const Driver& driver);
// Error H1342.
Result<Gpu> gpu(const Driver& driver, CUdevice device);

}  // namespace hone::cuda
