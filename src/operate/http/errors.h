// Error codes of operate/http: H330x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/http/errors.def"
}  // namespace hone::err
