// The error codes of learn/pretrained: H2281 to H2286. errors.def has their meanings.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "learn/pretrained/errors.def"
}  // namespace hone::err
