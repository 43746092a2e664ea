// The error codes of learn/configs: H2441 and H2442. errors.def has their meanings.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/configs/errors.def"
}  // namespace hone::err
