// Error codes of the room learn/checkpoint/gguf: H2208, H2209.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/checkpoint/gguf/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
