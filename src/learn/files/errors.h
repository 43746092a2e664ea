// The error code of this folder: H3003. errors.def has its title.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/files/errors.def"
}  // namespace hone::err
