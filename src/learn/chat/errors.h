// Error codes of the room: H291x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/chat/errors.def"
}  // namespace hone::err
