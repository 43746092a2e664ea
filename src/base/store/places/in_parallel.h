// Several requests to a store at a time, each on a thread that waits for it.
#pragma once

#include <cstdint>
#include <functional>

#include "base/core/error.h"

namespace hone {

// Runs f(0) ... f(count - 1) on up to `threads` threads; the first Error ends it.
Status in_parallel(int64_t count, int threads, const std::function<Status(int64_t)>& f);

}  // namespace hone
