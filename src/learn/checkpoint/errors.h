// Error codes of the room learn/checkpoint: H2210 to H2213.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/checkpoint/errors.def"
}  // namespace hone::err
