// Error codes of this folder: H28xx. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/datasets/errors.def"
}  // namespace hone::err
