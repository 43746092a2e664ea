// Error codes of operate/serve/protocol: H34xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/serve/protocol/errors.def"
}  // namespace hone::err
