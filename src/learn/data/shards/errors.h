// Error codes of the room learn/data/shards: H2132, H2133.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/shards/errors.def"
}  // namespace hone::err
