// The reference backend: plain loops over primitives, computed in double, single-threaded. Slow on
// purpose; every other backend is compared with it. Composites are declined, so that lowering
// decomposes them.
#pragma once

#include "engine/device/backend.h"

namespace hone {

const Backend& reference_backend();  // one for the process
std::unique_ptr<Backend> make_reference_backend();

}  // namespace hone
