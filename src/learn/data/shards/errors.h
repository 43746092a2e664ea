// Error codes of this folder: H2132, H2133. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/shards/errors.def"
}  // namespace hone::err
