// Times one algorithm of a cuBLASLt product on the GPU.
#pragma once

#include "engine/backends/cuda/device.h"
#include "engine/backends/cuda/libraries/blas.h"

namespace hone::cuda {

// The mean seconds of one run of the product. It allocates operands for itself and frees them, so it must run before a
// session takes the GPU's memory. Errors: H1321 not enough memory, H1342 cuBLASLt fails.
Result<double> product_seconds(CudaDevice& device, const LtProduct& product);

}  // namespace hone::cuda
