// The CPU backend: fused kernels for the composites, plain threaded loops for the primitives.
#pragma once

#include <memory>

#include "engine/device/backend.h"

namespace hone {

// Kernels (and their scratch) are chosen for this number of threads; run() must get a pool of it.
std::unique_ptr<Backend> make_cpu_backend(int threads);

}  // namespace hone
