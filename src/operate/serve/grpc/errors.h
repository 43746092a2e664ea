// Error codes of operate/serve/grpc: H343x.
#pragma once

#include "base/core/error.h"

namespace hone::err {
#include "operate/serve/grpc/errors.def"
}  // namespace hone::err
