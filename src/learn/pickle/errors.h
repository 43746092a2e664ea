// Error codes of the room: H27xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/pickle/errors.def"
}  // namespace hone::err
