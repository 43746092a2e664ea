// The error codes of learn/checkpoint/gguf: H2208 and H2209. errors.def has their meanings.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/checkpoint/gguf/errors.def"
}  // namespace hone::err
