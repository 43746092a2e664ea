// Error codes of the room: H31xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "run/library/errors.def"
}  // namespace hone::err
