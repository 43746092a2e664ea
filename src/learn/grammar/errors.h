// Error codes of this folder: H251x. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/grammar/errors.def"
}  // namespace hone::err
