// Bytes that the TCP connections of this process have moved, as its kernel counts them.
#pragma once

#include <cstdint>

namespace hone {

// Bytes that were received, and sent and acknowledged, by the open connections; without those of the
// descriptor `except`. -1: the kernel does not count them.
int64_t tcp_bytes_moved(int except);

}  // namespace hone
