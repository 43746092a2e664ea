// The CUDA backend on an emulated driver: a GPU's kernels and the host code that launches them, on the
// CPU.
#pragma once

#include "engine/backends/cuda/emulator/fake_driver.h"
#include "engine/device/backend.h"

namespace hone {

// Opens the backend "cuda_emulated". threads: of the host; 0: all that this process may use. host: backend of the lane
// host_compute; null: programs have no nodes there. with_blas: products use an emulated cuBLASLt, else hone's kernels.
// When the backend is destroyed, mistakes that the driver found (FakeDriver::finish) are logged, and end the process as
// a bug.
Result<std::unique_ptr<Backend>> make_emulated_cuda_backend(const cuda::FakeOptions& options,
                                                            int threads = 0,
                                                            std::shared_ptr<Backend> host = {},
                                                            bool with_blas = true);

}  // namespace hone
