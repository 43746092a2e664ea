// The error codes of src/run/commands, H30xx, as constants.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "run/commands/errors.def"
}  // namespace hone::err
