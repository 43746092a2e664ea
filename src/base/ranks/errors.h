// Error codes of the room: H0121 to H0130.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "base/ranks/errors.def"
}  // namespace hone::err
