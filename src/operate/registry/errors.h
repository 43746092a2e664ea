// Error codes of operate/registry: H313x and H314x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/registry/errors.def"
}  // namespace hone::err
