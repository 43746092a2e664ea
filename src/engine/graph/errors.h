// Error codes of engine/graph, H10xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/graph/errors.def"
}  // namespace hone::err
