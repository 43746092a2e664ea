// Error codes of the room: H20xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/tokenizers/text/errors.def"
}  // namespace hone::err
