// Sends several requests to a store at once, each on a thread that waits for its answer.
#pragma once

#include <cstdint>
#include <functional>

#include "base/core/error.h"

namespace hone {

// Calls f(0) ... f(count - 1) on up to `threads` threads, the calling thread included, and waits. After the first Error
// no further call starts, and that Error is returned.
Status in_parallel(int64_t count, int threads, const std::function<Status(int64_t)>& f);

}  // namespace hone
