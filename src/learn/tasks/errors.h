// Error codes of the room learn/tasks: H2416, H2427, H2440.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/tasks/errors.def"
}  // namespace hone::err
