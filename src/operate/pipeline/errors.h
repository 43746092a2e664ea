// Error codes of the room: H316x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/pipeline/errors.def"
}  // namespace hone::err
