// The backend of an NVIDIA GPU: runs the kernels of cuda/kernels and products of cuBLASLt through the CUDA driver.
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
  std::string name = "cuda";  // Backend::name()
  // Backend that runs the nodes of the lane host_compute on the CPU; null: programs have no such nodes.
  std::shared_ptr<Backend> host = {};
  std::optional<cuda::Blas> blas = {};     // cuBLASLt; none: products use hone's own kernels
  std::optional<int64_t> blas_bytes = {};  // cuBLASLt's workspace; none: that of the device spec
  cuda::LoadNccl nccl = {};                // loads NCCL; none: only one rank is supported
  // Folder in which the algorithms chosen for cuBLASLt products are kept; "": they are not kept.
  std::string folder = {};
  // true: times the algorithms of a product and takes the fastest; false: takes cuBLASLt's first proposal.
  bool tune = false;
  bool graphs = true;  // true: records programs as CUDA graphs; a run is one call of the driver
  int threads = 0;     // host threads; 0: all that this process may use
  // An object that must live as long as the backend, such as an emulated driver.
  std::shared_ptr<void> owner = {};
};

// Returns modules that together contain the kernels of these names, compiled for an architecture such as "sm_90a".
using KernelModules = std::function<Result<std::vector<cuda::KernelModule>>(
    const std::string& architecture, const std::set<std::string>& names)>;

// Opens GPU number `ordinal` (from 0, in the driver's order). Compiling a program loads the kernels that it needs.
// Errors: H1342 the driver or cuBLASLt fails, H1344 the GPU is too old.
Result<std::unique_ptr<Backend>> make_cuda_backend(const cuda::Driver& driver, int ordinal,
                                                   KernelModules modules,
                                                   const CudaOptions& options = {});

// Returns a function that answers like Backend::choose() of a GPU with this spec. This machine need not have the GPU.
// The function assumes that all libraries are installed.
std::function<Result<Choice>(const NodeView& n)> choose_as_gpu(const DeviceSpec& spec);

}  // namespace hone
