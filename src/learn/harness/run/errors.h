// Error codes of the room learn/harness/run: H2412.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/harness/run/errors.def"
}  // namespace hone::err
