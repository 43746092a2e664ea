// Error codes of the room learn/tasks/presets: H2417.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/tasks/presets/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
