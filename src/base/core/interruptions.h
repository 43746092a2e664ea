#pragma once

#include <cstdint>

namespace hone {

// The number of times that other programs took a processor from a thread of this process.
int64_t times_interrupted();

}  // namespace hone
