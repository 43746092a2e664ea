// Error codes of the room learn/data/rows: H2113 to H2131.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/data/rows/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
