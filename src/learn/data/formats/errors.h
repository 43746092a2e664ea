// Error codes of the room learn/data/formats: H2101 to H2116.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/formats/errors.def"
}  // namespace hone::err
