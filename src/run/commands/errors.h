// Error codes of the room: H30xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "run/commands/errors.def"
}  // namespace hone::err
