// Error codes of the room: H13xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "engine/plan/errors.def"
}  // namespace hone::err
