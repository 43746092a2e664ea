// One block of host memory, allocated once. It is aligned to huge pages and populated, so the first step takes no page
// faults. Its pages are interleaved over the memory nodes (NUMA), unless numactl has set another policy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/core/error.h"

namespace hone {

class Arena {
 public:
  Arena() = default;
  // Allocates and populates memory, which is zero. H1321: the system refuses the memory, or refuses to populate it.
  // Several threads populate large arenas. `populate` populates a range and returns 0, or -1 with errno; tests replace
  // it.
  using Populate = int (*)(void* begin, size_t bytes);
  static Result<Arena> allocate(int64_t bytes, Populate populate = populate_now);
  static int populate_now(void* begin, size_t bytes);  // madvise(MADV_POPULATE_WRITE)
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
