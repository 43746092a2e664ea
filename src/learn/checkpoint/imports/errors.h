// The error codes of learn/checkpoint/imports: H2214 and H2215. errors.def has their meanings.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/checkpoint/imports/errors.def"
}  // namespace hone::err
