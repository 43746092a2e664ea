// Error codes of engine/passes, H11xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/passes/errors.def"
}  // namespace hone::err
