// Error codes of this folder: H2416, H2427, H2440, H2443. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/tasks/errors.def"
}  // namespace hone::err
