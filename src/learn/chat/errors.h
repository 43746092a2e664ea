// Error codes of this folder: H291x. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/chat/errors.def"
}  // namespace hone::err
