// The error codes of learn/trace: H2901 and H3007. errors.def has their meanings.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/trace/errors.def"
}  // namespace hone::err
