// Error codes of the room: H1321 to H1323 and H14xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/device/errors.def"
}  // namespace hone::err
