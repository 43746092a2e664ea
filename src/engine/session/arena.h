// One block of memory, taken once: aligned to huge pages, dealt out over the memory
// nodes (NUMA) unless numactl says otherwise, populated before the first step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/core/error.h"

namespace hone {

class Arena {
 public:
  Arena() = default;
  static Result<Arena> allocate(int64_t bytes);
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
