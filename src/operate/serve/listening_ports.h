// The processes of this machine that listen at a port, from /proc.
#pragma once

#include <cstdint>

namespace hone {

// Whether the process listens at the TCP port, at any address, and no other process does. True too if its files may not
// be read.
bool listens_alone(int64_t pid, int port);

}  // namespace hone
