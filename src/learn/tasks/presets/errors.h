// Error codes of the room learn/tasks/presets: H2417.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/tasks/presets/errors.def"
}  // namespace hone::err
