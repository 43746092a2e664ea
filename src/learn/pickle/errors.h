// Error codes of the room: H27xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/pickle/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
