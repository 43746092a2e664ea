// Error codes of the room learn/checkpoint/torch: H2207.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/checkpoint/torch/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
