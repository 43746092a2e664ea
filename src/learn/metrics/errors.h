// Error codes of learn/metrics: H26xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/metrics/errors.def"
}  // namespace hone::err
