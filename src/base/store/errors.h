// The error codes of src/base/store, H01xx, as constants.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "base/store/errors.def"
}  // namespace hone::err
