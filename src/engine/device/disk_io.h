// Reads and writes files, several requests in flight: by io_uring if the kernel allows it, else by
// a few threads with one request each. For one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/core/error.h"

namespace hone {

struct DiskRequest {
  int file = -1;
  bool writes = false;
  void* memory = nullptr;
  int64_t bytes = 0, offset = 0;
};

struct DiskResult {
  size_t slot = 0;
  int64_t bytes = 0;  // read or written, perhaps a part; or -errno
};

class DiskIo {
 public:
  static constexpr size_t kSlots = 16;  // requests in flight
  virtual ~DiskIo() = default;          // call with no request in flight
  // Starts a request. The slot, of kSlots, must be free: its result was taken, or it was never
  // used.
  virtual void begin(size_t slot, const DiskRequest& request) = 0;
  // Waits for one request in flight; there must be one.
  virtual DiskResult finish_one() = 0;
};

// "" if io_uring can be used, else the reason why not.
std::string why_no_uring();

// Memory that any disk can read into and write from directly. Its pages are the system's own: they
// count once they are touched, and no longer after its end.
struct DiskBufferEnd {
  int64_t bytes = 0;
  void operator()(std::byte* at) const;
};
using DiskBuffer = std::unique_ptr<std::byte[], DiskBufferEnd>;
DiskBuffer make_disk_buffer(int64_t bytes);  // throws std::bad_alloc
// Rounds `bytes` up to whole disk blocks.
int64_t in_disk_blocks(int64_t bytes);

std::unique_ptr<DiskIo> make_uring_io();    // null if it cannot be used
std::unique_ptr<DiskIo> make_threads_io();  // pread and pwrite

}  // namespace hone
