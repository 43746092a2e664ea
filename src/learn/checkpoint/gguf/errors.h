// Error codes of the room learn/checkpoint/gguf: H2208, H2209.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/checkpoint/gguf/errors.def"
}  // namespace hone::err
