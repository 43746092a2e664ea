// The CUDA backend on a driver that is emulated: the kernels and the host code of a GPU, on the CPU.
#pragma once

#include "engine/backends/cuda/fake/fake_driver.h"
#include "engine/device/backend.h"

namespace hone {

// What the driver has found is a Bug when the backend goes, which ends the process: a test may not pass
// unseen.
Result<std::unique_ptr<Backend>> make_emulated_cuda_backend(const cuda::FakeOptions& options,
                                                            int threads = 0,
                                                            std::shared_ptr<Backend> host = {},
                                                            bool with_blas = true);

}  // namespace hone
