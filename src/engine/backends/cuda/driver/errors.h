// Error codes of the room: H134x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/backends/cuda/driver/errors.def"
}  // namespace hone::err
