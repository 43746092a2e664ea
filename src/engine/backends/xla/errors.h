// Error codes of the PJRT backends: H1361 to H1363.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/backends/xla/errors.def"
}  // namespace hone::err
