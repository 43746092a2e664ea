// The error codes of src/base/core, H00xx, as constants.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "base/core/errors.def"
}  // namespace hone::err
