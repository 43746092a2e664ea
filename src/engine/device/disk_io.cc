#include "engine/device/disk_io.h"

#include <cstdlib>
#include <new>

#include "engine/plan/plan.h"

namespace hone {

int64_t in_disk_blocks(int64_t bytes) {
  return (bytes + kDiskAlignment - 1) / kDiskAlignment * kDiskAlignment;
}

DiskBuffer make_disk_buffer(int64_t bytes) {
  void* at = std::aligned_alloc(kDiskAlignment, static_cast<size_t>(in_disk_blocks(bytes)));
  if (!at) throw std::bad_alloc();
  return {static_cast<std::byte*>(at), std::free};
}

}  // namespace hone
