// Error codes of the room: H3003.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/files/errors.def"
}  // namespace hone::err
