// Error codes of the room: H228x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/pretrained/errors.def"
}  // namespace hone::err
