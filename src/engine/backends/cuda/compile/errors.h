// Error codes of the room.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/backends/cuda/compile/errors.def"
}  // namespace hone::err
