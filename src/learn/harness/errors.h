// Error codes of the room learn/harness: H2413 to H2415.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/harness/errors.def"
}  // namespace hone::err
