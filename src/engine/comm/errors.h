// Error codes of engine/comm, H1501 to H1504.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/comm/errors.def"
}  // namespace hone::err
