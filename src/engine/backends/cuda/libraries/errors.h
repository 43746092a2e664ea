// Error codes of NVIDIA's driver and libraries: H1341 to H1346.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/backends/cuda/libraries/errors.def"
}  // namespace hone::err
