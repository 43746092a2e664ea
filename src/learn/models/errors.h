// Error codes of the room: H23xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/models/errors.def"
}  // namespace hone::err
