// Error codes of learn/datasets: H28xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/datasets/errors.def"
}  // namespace hone::err
