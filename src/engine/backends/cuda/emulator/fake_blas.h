// A cuBLASLt that multiplies on the streams of the fake driver, which checks what it accesses.
#pragma once

#include "engine/backends/cuda/libraries/blas.h"

namespace hone::cuda {

Blas fake_blas();
// The algorithm that it chooses, 1 to 99, and whether it has the gelu epilogue.
inline uint64_t fake_blas_algorithm = 1;
inline bool fake_blas_has_gelu = true;

}  // namespace hone::cuda
