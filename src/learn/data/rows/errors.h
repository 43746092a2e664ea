// Error codes of this folder: H2113 to H2131. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/rows/errors.def"
}  // namespace hone::err
