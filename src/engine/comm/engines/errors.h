// Error codes of engine/comm/engines: H1505.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/comm/engines/errors.def"
}  // namespace hone::err
