// Error codes of the room: H01xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "base/store/errors.def"
}  // namespace hone::err
