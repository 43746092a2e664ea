// Error codes of this folder: H2964 to H2966. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/images/errors.def"
}  // namespace hone::err
