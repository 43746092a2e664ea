// Error codes of the room: H25xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/generate/errors.def"
}  // namespace hone::err
