// A cuBLASLt that multiplies on the streams of the fake driver, which checks what it accesses.
#pragma once

#include "engine/backends/cuda/blas/blas.h"

namespace hone::cuda {

Blas fake_blas();

}  // namespace hone::cuda
