// Error codes of the room.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/configs/errors.def"
}  // namespace hone::err
