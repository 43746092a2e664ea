// The reference backend: plain loops over primitives, computed in double, single-threaded. It is
// slow, because it is as simple as possible: every other backend is compared with it. It declines (H1401)
// ops that have a decomposition, so that lower() decomposes them.
#pragma once

#include "engine/device/backend.h"

namespace hone {

const Backend& reference_backend();                 // the one object that the process shares
std::unique_ptr<Backend> make_reference_backend();  // a new object

}  // namespace hone
