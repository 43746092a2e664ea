// A cuBLASLt that multiplies on the streams of the fake driver, which checks what it accesses.
#pragma once

#include "engine/backends/cuda/libraries/blas.h"

namespace hone::cuda {

Blas fake_blas();
// The first algorithm that it proposes, 1 to 99, how many there are, and whether it has the epilogues
// of gelu and of its slope.
inline uint64_t fake_blas_algorithm = 1;
inline int fake_blas_algorithms = 1;
inline bool fake_blas_has_gelu = true;

}  // namespace hone::cuda
