// Error codes of this folder: H2101 to H2112, H2116, H2118, H2119. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/formats/errors.def"
}  // namespace hone::err
