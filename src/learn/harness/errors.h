// Error codes of the room learn/harness: H2404, H2412 to H2415 and H2425.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/harness/errors.def"
}  // namespace hone::err
