// Counts the bytes that the TCP connections of this process have moved.
#pragma once

#include <cstdint>

namespace hone {

// The sum of received bytes and of sent and acknowledged bytes over the open TCP connections, by the kernel's counts
// (TCP_INFO of tcp(7)). The connection with the file descriptor `except` does not count. -1: the kernel has no counts.
int64_t tcp_bytes_moved(int except);

}  // namespace hone
