// Error codes of the room: H350x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/web/errors.def"
}  // namespace hone::err
