// Error codes of the room learn/data/formats: H2101 to H2112, H2116, H2118, H2119.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/formats/errors.def"
}  // namespace hone::err
