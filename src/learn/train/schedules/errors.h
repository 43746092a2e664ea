// Error codes of this folder: H2401. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/train/schedules/errors.def"
}  // namespace hone::err
