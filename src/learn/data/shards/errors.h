// Error codes of the room learn/data/shards: H2132, H2133.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/data/shards/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
