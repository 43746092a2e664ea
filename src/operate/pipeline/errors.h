// Error codes of operate/pipeline: H3161 to H3167 and H3169.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/pipeline/errors.def"
}  // namespace hone::err
