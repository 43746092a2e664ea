// Error codes of the room: H29xx and H3007.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/trace/errors.def"
}  // namespace hone::err
