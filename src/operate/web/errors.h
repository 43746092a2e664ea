// Error codes of operate/web: H350x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/web/errors.def"
}  // namespace hone::err
