// Computes on an NVIDIA GPU: kernels of ../kernels, started through a driver.
#pragma once

#include <memory>

#include "engine/backends/cuda/device.h"
#include "engine/device/backend.h"

namespace hone {

// image: a module with the kernels, as cuModuleLoadData takes it. Errors: H1342.
Result<std::unique_ptr<Backend>> make_cuda_backend(const cuda::Driver& driver, int ordinal,
                                                   const void* image);

}  // namespace hone
