// Error codes of this folder: H2409. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/train/optimizers/errors.def"
}  // namespace hone::err
