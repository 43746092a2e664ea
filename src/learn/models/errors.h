// The error codes of learn/models: H2301 to H2305. errors.def has their meanings.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/models/errors.def"
}  // namespace hone::err
