// The error codes of src/base/settings, H02xx, as constants.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "base/settings/errors.def"
}  // namespace hone::err
