// Declares the reads and writes of queued work to a recorder (engine/backends/cuda/emulator). Without a
// recorder it costs one load of a pointer.
//   const Access accesses[] = {{x, x_bytes, false}, {y, y_bytes, true}};
//   note_accesses(accesses);
//   driver.cuLaunchKernel(...);
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace hone {

// Bytes of device or pinned memory. In-place reads and writes are declared once, as a write.
struct Access {
  const void* at = nullptr;
  int64_t bytes = 0;
  bool writes = false;
};

struct AccessHooks {
  void (*work)(std::span<const Access>) = nullptr;
  void (*host)(std::span<const Access>) = nullptr;
};
inline std::atomic<const AccessHooks*> access_hooks = nullptr;

// Declares the accesses of the kernel or host function that this thread launches next. Calls add
// up.
inline void note_accesses(std::span<const Access> accesses) {
  if (const AccessHooks* hooks = access_hooks.load(std::memory_order_acquire))
    hooks->work(accesses);
}

// Declares accesses of pinned memory that the host makes itself, now.
inline void note_host_accesses(std::span<const Access> accesses) {
  if (const AccessHooks* hooks = access_hooks.load(std::memory_order_acquire))
    hooks->host(accesses);
}

}  // namespace hone
