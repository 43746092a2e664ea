// Error codes of engine/ops, H12xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/ops/errors.def"
}  // namespace hone::err
