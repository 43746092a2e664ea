// Error codes of the room learn/checkpoint/torch: H2207.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/checkpoint/torch/errors.def"
}  // namespace hone::err
