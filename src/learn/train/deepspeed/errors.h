// Error codes of this folder: H2418, H2419. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/train/deepspeed/errors.def"
}  // namespace hone::err
