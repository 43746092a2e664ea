// Reads and writes files with several requests in flight: by io_uring if the kernel allows it, else by a few threads
// with one request each. A DiskIo may be used by one thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/core/error.h"

namespace hone {

struct DiskRequest {
  int file = -1;        // file descriptor
  bool writes = false;  // false: reads
  void* memory = nullptr;
  int64_t bytes = 0, offset = 0;  // offset in the file
};

struct DiskResult {
  size_t slot = 0;
  int64_t bytes = 0;  // the bytes read or written, which may be a part of the request; or -errno
};

class DiskIo {
 public:
  static constexpr size_t kSlots = 16;  // the most requests in flight
  virtual ~DiskIo() = default;          // no request may be in flight
  // Starts a request in a slot, 0 to kSlots - 1. The slot must be unused, or finish_one() must have returned its last
  // result.
  virtual void begin(size_t slot, const DiskRequest& request) = 0;
  // Waits until any request in flight is done, and returns its result. At least one must be in flight.
  virtual DiskResult finish_one() = 0;
};

// The reason why io_uring cannot be used; "": it can.
std::string why_no_uring();

// Memory that any disk can read into and write from directly (O_DIRECT). It is mapped from the system: a page takes
// memory once it is touched, and is returned to the system when the buffer is destroyed.
struct DiskBufferEnd {
  int64_t bytes = 0;
  void operator()(std::byte* at) const;
};
using DiskBuffer = std::unique_ptr<std::byte[], DiskBufferEnd>;
DiskBuffer make_disk_buffer(int64_t bytes);  // throws std::bad_alloc
// Rounds `bytes` up to whole disk blocks.
int64_t in_disk_blocks(int64_t bytes);

std::unique_ptr<DiskIo> make_uring_io();    // null: io_uring cannot be used
std::unique_ptr<DiskIo> make_threads_io();  // threads that call pread and pwrite

}  // namespace hone
