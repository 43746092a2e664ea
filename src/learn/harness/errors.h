// Error codes of this folder: H2413 to H2415. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/harness/errors.def"
}  // namespace hone::err
