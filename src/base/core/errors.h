// Error codes of the room: H00xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "base/core/errors.def"
}  // namespace hone::err
