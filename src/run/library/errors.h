// The error codes of src/run/library, H31xx, as constants.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "run/library/errors.def"
}  // namespace hone::err
