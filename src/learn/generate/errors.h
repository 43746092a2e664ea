// The error codes of learn/generate: H2501 to H2507. errors.def has their meanings.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/generate/errors.def"
}  // namespace hone::err
