// One block of memory, allocated once: aligned to huge pages, spread over the memory nodes (NUMA)
// unless numactl is used, populated before the first step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/core/error.h"

namespace hone {

class Arena {
 public:
  Arena() = default;
  // H1321 if the system refuses the memory, also while it is populated. `populate` is
  // madvise(MADV_POPULATE_WRITE); tests give another one. Large arenas are populated by several threads.
  using Populate = int (*)(void* begin, size_t bytes);
  static Result<Arena> allocate(int64_t bytes, Populate populate = populate_now);
  static int populate_now(void* begin, size_t bytes);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
};

}  // namespace hone
