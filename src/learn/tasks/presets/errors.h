// Error codes of this folder: H2417. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/tasks/presets/errors.def"
}  // namespace hone::err
