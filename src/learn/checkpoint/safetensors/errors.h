// Error codes of the room learn/checkpoint/safetensors: H2201 to H2206.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "learn/checkpoint/safetensors/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
