// Times one algorithm of a cuBLASLt product on the GPU.
#pragma once

#include "engine/backends/cuda/device.h"
#include "engine/backends/cuda/libraries/blas.h"

namespace hone::cuda {

// Returns the mean time of one run of the product, in seconds. It allocates and frees operands of its own, so call it
// before a session takes the GPU's memory. Errors: H1321 not enough memory, H1342 cuBLASLt fails.
Result<double> product_seconds(CudaDevice& device, const LtProduct& product);

}  // namespace hone::cuda
