// The backend of NVIDIA GPUs over a driver that runs kernels on the CPU.
#include "engine/backends/backends.h"
#include "engine/backends/cpu/backend.h"
#include "engine/backends/cuda/emulator/emulated.h"

namespace hone {

BackendKind backend_cuda_emulated() {
  return {.name = "cuda_emulated",
          .about = "the kernels for NVIDIA GPUs on the CPU, slowly, for tests",
          .open = [](const BackendOptions& o) -> Result<std::unique_ptr<Backend>> {
            return make_emulated_cuda_backend({.memory_bytes = int64_t{16} << 30}, o.threads,
                                              HONE_TRY(open_cpu_backend(o.threads, o.isa)));
          }};
}

}  // namespace hone
