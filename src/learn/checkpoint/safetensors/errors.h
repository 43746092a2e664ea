// The error codes of learn/checkpoint/safetensors: H2201 to H2206. errors.def has their meanings.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/checkpoint/safetensors/errors.def"
}  // namespace hone::err
