// Counts how often this process lost a processor to others.
#pragma once

#include <cstdint>

namespace hone {

// The number of involuntary context switches of all threads of this process since its start (ru_nivcsw of
// getrusage(2)): times that the kernel gave the processor of a running thread to another thread.
int64_t times_interrupted();

}  // namespace hone
