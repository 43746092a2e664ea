// Options of the fake driver.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "engine/backends/cuda/emulator/grid.h"
#include "engine/backends/cuda/libraries/kept_kernels.h"

namespace hone::cuda {

// The image of the module that has all kernels of emulate::find_function.
inline constexpr const char* kEmulatedImage = "hone emulated kernels";
inline Result<std::vector<KernelModule>> emulated_modules(const std::string&,
                                                          const std::set<std::string>& names) {
  return std::vector{KernelModule{{names.begin(), names.end()}, kEmulatedImage}};
}

// When queued work is done. at_once: in the call that queues it. as_late_as_possible: when a wait
// of the host needs it, and nothing else before. shuffled: at any time, in an order that the seed
// gives.
enum class Execution { at_once, as_late_as_possible, shuffled };

struct FakeOptions {
  int64_t memory_bytes = int64_t{1} << 30;
  int capability_major = 9, capability_minor = 0;
  std::string name = "NVIDIA emulated";
  int multiprocessors = 132;
  Execution execution = Execution::at_once;
  uint64_t seed = 1;
  emulate::Order threads = emulate::Order::forward;  // of a block
  // Hides the bytes of the device that a kernel has not noted while it runs, and finds writes to
  // others than those noted as written. Each kernel then takes time for all memory of the device.
  bool checks_notes = false;
};

}  // namespace hone::cuda
