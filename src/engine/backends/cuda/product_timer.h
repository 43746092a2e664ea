// Times the algorithms of a product on the device, on operands of its own.
#pragma once

#include "engine/backends/cuda/device.h"
#include "engine/backends/cuda/libraries/blas.h"

namespace hone::cuda {

// Takes the operands' memory while it runs, before a session allocates its own. Errors H1321 (there
// is not enough), H1342.
Result<double> product_seconds(CudaDevice& device, const LtProduct& product);

}  // namespace hone::cuda
