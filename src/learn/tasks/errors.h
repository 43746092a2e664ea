// Error codes of the room learn/tasks: H2416, H2427.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/tasks/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
