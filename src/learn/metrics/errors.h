// Error codes of learn/metrics: H26xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/metrics/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
