// Declares the reads and writes of queued work to a recorder (engine/backends/cuda/emulator), which finds accesses that
// are not ordered. Without a recorder a call costs one load of a pointer.
//   const Access accesses[] = {{x, x_bytes, false}, {y, y_bytes, true}};
//   note_accesses(accesses);
//   driver.cuLaunchKernel(...);
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace hone {

// An access of a range of device memory or pinned host memory. Bytes that are read and written in place are declared
// once, as a write.
struct Access {
  const void* at = nullptr;
  int64_t bytes = 0;
  bool writes = false;
};

// The recorder's functions, which note_accesses() and note_host_accesses() call. Null: no recorder.
struct AccessHooks {
  void (*work)(std::span<const Access>) = nullptr;
  void (*host)(std::span<const Access>) = nullptr;
};
inline std::atomic<const AccessHooks*> access_hooks = nullptr;

// Declares accesses of the kernel or host function that this thread launches next. May be called repeatedly before one
// launch; all declared accesses count.
inline void note_accesses(std::span<const Access> accesses) {
  if (const AccessHooks* hooks = access_hooks.load(std::memory_order_acquire))
    hooks->work(accesses);
}

// Declares accesses of pinned memory that the calling thread makes now.
inline void note_host_accesses(std::span<const Access> accesses) {
  if (const AccessHooks* hooks = access_hooks.load(std::memory_order_acquire))
    hooks->host(accesses);
}

}  // namespace hone
