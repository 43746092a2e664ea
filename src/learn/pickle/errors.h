// Error codes of this folder: H27xx. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/pickle/errors.def"
}  // namespace hone::err
