// Reads and writes of files, several on their way at a time: by io_uring where the kernel has it
// for this process, else by a few threads that wait for one each. For one thread.
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
  int64_t bytes = 0;  // read or written, perhaps not all; or -errno
};

class DiskIo {
 public:
  static constexpr size_t kSlots = 16;  // requests on their way
  virtual ~DiskIo() = default;          // when nothing is on its way
  // The slot, of kSlots, is free; its result has been taken or none was asked for.
  virtual void begin(size_t slot, const DiskRequest& request) = 0;
  // Waits for one of the requests on their way, which there are.
  virtual DiskResult finish_one() = 0;
};

// "" where io_uring can be used, else why not.
std::string why_no_uring();

// Memory that any disk can read into and write from directly; not filled. Throws std::bad_alloc.
using DiskBuffer = std::unique_ptr<std::byte[], void (*)(void*)>;
DiskBuffer make_disk_buffer(int64_t bytes);
// `bytes` in whole disk blocks.
int64_t in_disk_blocks(int64_t bytes);

std::unique_ptr<DiskIo> make_uring_io();    // null where it cannot be used
std::unique_ptr<DiskIo> make_threads_io();  // pread and pwrite

}  // namespace hone
