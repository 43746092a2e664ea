// Error codes of operate/monitor: H311x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/monitor/errors.def"
}  // namespace hone::err
