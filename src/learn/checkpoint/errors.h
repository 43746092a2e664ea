// Error codes of the room learn/checkpoint: H2210 to H2213.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/checkpoint/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
