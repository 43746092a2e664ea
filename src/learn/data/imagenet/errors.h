// Error codes of this folder: H2967 to H2969. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/imagenet/errors.def"
}  // namespace hone::err
