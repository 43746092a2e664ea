// Error codes of the room learn/harness: H2404, H2412 to H2415 and H2425.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/harness/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
