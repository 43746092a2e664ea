// Error codes of tokenizers: H20xx. errors.def has their titles.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/tokenizers/text/errors.def"
}  // namespace hone::err
