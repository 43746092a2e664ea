// Error codes of the room learn/data/formats: H2101 to H2116.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/data/formats/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
