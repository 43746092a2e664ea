// Error codes of the room learn/checkpoint/imports: H2214 and H2215.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/checkpoint/imports/errors.def"
}  // namespace hone::err
