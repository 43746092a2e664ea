// Error codes of engine/plan, H130x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/plan/errors.def"
}  // namespace hone::err
