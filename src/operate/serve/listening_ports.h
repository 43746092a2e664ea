// Finds out from /proc which process of this machine listens at a port.
#pragma once

#include <cstdint>

namespace hone {

// Whether the process `pid` listens at the TCP port, at any address, and no other process does. Also true if some
// process listens there and /proc/PID/fd cannot be read.
bool listens_alone(int64_t pid, int port);

}  // namespace hone
