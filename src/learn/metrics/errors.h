// The error codes of learn/metrics: H2601 to H2605. errors.def has their meanings.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/metrics/errors.def"
}  // namespace hone::err
