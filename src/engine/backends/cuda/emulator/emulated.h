// The CUDA backend on an emulated driver: the GPU's kernels, and the host code that launches them, run on the CPU.
#pragma once

#include "engine/backends/cuda/emulator/fake_driver.h"
#include "engine/device/backend.h"

namespace hone {

// Opens the backend "cuda_emulated". threads: number of host threads; 0: all that this process may use. host: the
// backend for nodes of the lane host_compute; null: programs have no such nodes. with_blas: true: products use an
// emulated cuBLASLt; false: products use hone's kernels.
// When the backend is destroyed, mistakes that the driver found (FakeDriver::finish) are logged, and end the process as
// a bug.
Result<std::unique_ptr<Backend>> make_emulated_cuda_backend(const cuda::FakeOptions& options,
                                                            int threads = 0,
                                                            std::shared_ptr<Backend> host = {},
                                                            bool with_blas = true);

}  // namespace hone
