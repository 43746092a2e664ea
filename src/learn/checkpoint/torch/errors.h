// The error code of learn/checkpoint/torch: H2207. errors.def has its meaning.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/checkpoint/torch/errors.def"
}  // namespace hone::err
