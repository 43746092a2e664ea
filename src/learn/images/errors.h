// Error codes of this folder: H296x. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/images/errors.def"
}  // namespace hone::err
