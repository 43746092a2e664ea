// Error codes of the room: H350x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#define HONE_ERROR(name, code, title) inline constexpr ErrorCode name{code, title};
#include "operate/web/errors.def"
#undef HONE_ERROR
}  // namespace hone::err
