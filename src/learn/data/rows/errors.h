// Error codes of the room learn/data/rows: H2113 to H2131.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/rows/errors.def"
}  // namespace hone::err
