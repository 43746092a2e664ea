// Error codes of this folder: H2412. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/harness/run/errors.def"
}  // namespace hone::err
