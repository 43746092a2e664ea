// Error codes of operate/pipeline/compile: H3168.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/pipeline/compile/errors.def"
}  // namespace hone::err
