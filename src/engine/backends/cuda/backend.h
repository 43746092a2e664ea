// Computes on an NVIDIA GPU: starts the kernels of ../kernels through a driver.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/backends/cuda/device.h"
#include "engine/backends/cuda/libraries/blas.h"
#include "engine/backends/cuda/libraries/kept_kernels.h"
#include "engine/backends/cuda/rank_comm.h"
#include "engine/device/backend.h"

namespace hone {

struct CudaOptions {
  std::string name = "cuda";
  // Kernels of the lane host_compute; null: the lane has none.
  std::shared_ptr<Backend> host = {};
  std::optional<cuda::Blas> blas = {};     // none: products use hone's own kernels
  std::optional<int64_t> blas_bytes = {};  // of its workspace; none: the device spec's
  cuda::LoadNccl nccl = {};                // none: one rank
  std::string folder = {};                 // keeps algorithms of products; "": none
  bool tune = false;   // algorithms of products by their times, not the library's first
  bool graphs = true;  // a run of a program is one call of the driver
  int threads = 0;     // of the host; 0: all of this process
  std::shared_ptr<void> owner = {};  // lives as long as the backend
};

// Modules that have the kernels of these names, for an architecture ("sm_90a").
using KernelModules = std::function<Result<std::vector<cuda::KernelModule>>(
    const std::string& architecture, const std::set<std::string>& names)>;

// Errors: H1342, H1344. Kernels are loaded when a program that needs them is compiled.
Result<std::unique_ptr<Backend>> make_cuda_backend(const cuda::Driver& driver, int ordinal,
                                                   KernelModules modules,
                                                   const CudaOptions& options = {});

// Makes the same choices without the GPU; assumes all libraries exist.
std::function<Result<Choice>(const NodeView& n)> choose_as_gpu(const DeviceSpec& spec);

}  // namespace hone
