// Error codes of operate/launch: H318x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/launch/errors.def"
}  // namespace hone::err
