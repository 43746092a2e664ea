// Computes on an NVIDIA GPU: starts the kernels of ../kernels through a driver.
#pragma once

#include <memory>

#include "engine/backends/cuda/device.h"
#include "engine/backends/cuda/libraries/blas.h"
#include "engine/device/backend.h"

namespace hone {

struct CudaOptions {
  std::string name = "cuda";
  // Kernels of the lane host_compute; null: the lane has none.
  std::shared_ptr<Backend> host = {};
  std::optional<cuda::Blas> blas = {};     // none: products use hone's own kernels
  std::optional<int64_t> blas_bytes = {};  // of its workspace; none: the device spec's
  std::string folder = {};                 // keeps algorithms of products; "": none
  bool graphs = true;                      // a run of a program is one call of the driver
  int threads = 0;                         // of the host; 0: all of this process
  std::shared_ptr<void> owner = {};        // lives as long as the backend
};

// A module with the kernels for an architecture ("sm_90"), as cuModuleLoadData takes it.
using KernelImage = std::function<Result<std::string>(const std::string& architecture)>;

// Errors: H1342, H1344, those of the image.
Result<std::unique_ptr<Backend>> make_cuda_backend(const cuda::Driver& driver, int ordinal,
                                                   const KernelImage& image,
                                                   const CudaOptions& options = {});

// Makes the same choices without the GPU; assumes all libraries exist.
std::function<Result<Choice>(const NodeView& n)> choose_as_gpu(const DeviceSpec& spec);

}  // namespace hone
