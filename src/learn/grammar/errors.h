// Error codes of the room: H251x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/grammar/errors.def"
}  // namespace hone::err
