// Error codes of the room learn/checkpoint/safetensors: H2201 to H2206.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/checkpoint/safetensors/errors.def"
}  // namespace hone::err
