// A cuBLASLt that multiplies on the CPU, as work of the fake driver's streams. The driver checks the memory that the
// products access.
#pragma once

#include "engine/backends/cuda/libraries/blas.h"

namespace hone::cuda {

Blas fake_blas();
// Settings of fake_blas(), for tests.
inline uint64_t fake_blas_algorithm = 1;  // number of the first algorithm that it proposes, 1 to 99
inline int fake_blas_algorithms = 1;      // how many algorithms it proposes
inline bool fake_blas_has_gelu = true;    // supports the epilogues GELU and DGELU

}  // namespace hone::cuda
