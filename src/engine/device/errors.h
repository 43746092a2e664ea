// Error codes of engine/device, H132x and H14xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/device/errors.def"
}  // namespace hone::err
