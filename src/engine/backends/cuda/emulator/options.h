// Options of the fake driver.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "engine/backends/cuda/emulator/grid.h"
#include "engine/backends/cuda/libraries/kept_kernels.h"

namespace hone::cuda {

// The bytes that cuModuleLoadData of the fake driver takes in place of a cubin; the module has all kernels of
// emulate::find_function().
inline constexpr const char* kEmulatedImage = "hone emulated kernels";
// A function of the type KernelModules (cuda/backend.h). For any names, it returns one module with kEmulatedImage.
inline Result<std::vector<KernelModule>> emulated_modules(const std::string&,
                                                          const std::set<std::string>& names) {
  return std::vector{KernelModule{{names.begin(), names.end()}, kEmulatedImage}};
}

// When queued work runs. at_once: in the call that queues it. as_late_as_possible: only when the host waits for it.
// shuffled: at random times, in a random order that CUDA allows.
enum class Execution { at_once, as_late_as_possible, shuffled };

struct FakeOptions {
  int64_t memory_bytes = int64_t{1} << 30;  // of the device
  int capability_major = 9, capability_minor = 0;
  std::string name = "NVIDIA emulated";
  int multiprocessors = 132;
  Execution execution = Execution::at_once;
  uint64_t seed = 1;                                 // of the random order of Execution::shuffled
  emulate::Order threads = emulate::Order::forward;  // order of the threads of a block
  // Checks that a kernel accesses only the bytes that note_accesses() declared: other device memory holds 0xff while
  // the kernel runs, and writes to bytes that are not declared as written are mistakes. The time
  // of a launch then grows with all allocated device memory, not only with the bytes of the kernel.
  bool checks_notes = false;
};

}  // namespace hone::cuda
