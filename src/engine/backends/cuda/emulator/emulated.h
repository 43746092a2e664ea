// The CUDA backend on a driver that is emulated: the kernels and the host code of a GPU, on the
// CPU.
#pragma once

#include "engine/backends/cuda/emulator/fake_driver.h"
#include "engine/device/backend.h"

namespace hone {

// Findings of the driver are a Bug when the backend is destroyed, which ends the process: no test
// can pass unnoticed.
Result<std::unique_ptr<Backend>> make_emulated_cuda_backend(const cuda::FakeOptions& options,
                                                            int threads = 0,
                                                            std::shared_ptr<Backend> host = {},
                                                            bool with_blas = true);

}  // namespace hone
