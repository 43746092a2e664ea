// Error codes of the room: H296x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/images/errors.def"
}  // namespace hone::err
