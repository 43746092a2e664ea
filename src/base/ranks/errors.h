// The error codes of src/base/ranks, H0121 to H0131, as constants.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "base/ranks/errors.def"
}  // namespace hone::err
