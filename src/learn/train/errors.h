// Error codes of the room: H24xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/train/errors.def"
}  // namespace hone::err
