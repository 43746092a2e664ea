// Error codes of operate/reporters: H312x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/reporters/errors.def"
}  // namespace hone::err
