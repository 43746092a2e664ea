// Error codes of operate/serve: H34xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/serve/errors.def"
}  // namespace hone::err
