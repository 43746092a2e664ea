// Error codes of this folder: H2404, H2425, H2426. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/harness/budget/errors.def"
}  // namespace hone::err
