#include "engine/device/disk_io.h"

#include <sys/mman.h>

#include <new>

#include "engine/plan/plan.h"

namespace hone {

int64_t in_disk_blocks(int64_t bytes) {
  return (bytes + kDiskAlignment - 1) / kDiskAlignment * kDiskAlignment;
}

void DiskBufferEnd::operator()(std::byte* at) const {
  if (at) munmap(at, static_cast<size_t>(bytes));
}

DiskBuffer make_disk_buffer(int64_t bytes) {
  const int64_t all = in_disk_blocks(bytes);
  void* at = mmap(nullptr, static_cast<size_t>(all), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(at), DiskBufferEnd{all}};
}

}  // namespace hone
