// Error codes of the room: H1321 to H1323 and H14xx.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "engine/device/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
