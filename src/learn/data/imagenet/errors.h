// Error codes of the room: H2967 to H2969.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/data/imagenet/errors.def"
}  // namespace hone::err
