// Error codes of this folder: H2402, H2403, H2405, H2406, H2408, H2410, H2411, H2428 to H2432. errors.def has their
// titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/train/errors.def"
}  // namespace hone::err
