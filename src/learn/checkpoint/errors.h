// The error codes of learn/checkpoint: H2210, H2212 and H2213. errors.def has their meanings.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/checkpoint/errors.def"
}  // namespace hone::err
