// Error codes of the room: H2964 to H2966.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/images/errors.def"
}  // namespace hone::err
