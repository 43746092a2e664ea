// Error codes of the room learn/harness/budget: H2404, H2425 and H2426.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/harness/budget/errors.def"
}  // namespace hone::err
