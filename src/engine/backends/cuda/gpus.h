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
  int64_t memory_bytes = 0;  // all of it, not only what is free
  std::string bus_id;        // PCI bus id, "0000:01:00.0", for links_of() of nvml.h
  bool is_usable() const { return major >= kOldestMajor; }
  // The architecture that kernels are compiled for, such as "sm_80". Capability 9.0 gives "sm_90a": it has
  // instructions that other GPUs lack (wgmma).
  std::string isa() const {
    return fmt::format("sm_{}{}{}", major, minor, major == 9 && minor == 0 ? "a" : "");
  }
  static constexpr int kOldestMajor = 7;  // capability 7.0: V100
};

// All GPUs, in the order of their ordinals. Error H1342: the driver fails.
Result<std::vector<Gpu>> gpus(const Driver& driver);
// One GPU by its handle. Error H1342: the driver fails.
Result<Gpu> gpu(const Driver& driver, CUdevice device);

}  // namespace hone::cuda
