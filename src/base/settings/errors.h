// Error codes of the room: H02xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "base/settings/errors.def"
}  // namespace hone::err
