// Finds out from /proc which process of this machine listens at a port.
#pragma once

#include <cstdint>

namespace hone {

// Whether the process `pid`, and no other process, listens at the TCP port, at any address. Also true if some process
// listens at the port and /proc/PID/fd of `pid` cannot be read.
bool listens_alone(int64_t pid, int port);

}  // namespace hone
