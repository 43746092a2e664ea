// The backend of the CPU's own kernels.
#include "engine/backends/backends.h"
#include "engine/backends/cpu/backend.h"

namespace hone {

BackendKind backend_cpu() {
  return {.name = "cpu",
          .about = "own kernels for this processor",
          .open = [](const BackendOptions& o) { return open_cpu_backend(o.threads, o.isa); },
          .devices = [](const BackendOptions& o) { return std::vector{cpu_spec(o.threads)}; },
          .chooser = [](const DeviceSpec& spec) -> Chooser {
            return [spec](const NodeView& n) { return choose_cpu(n, spec); };
          },
          .auto_rank = 1};
}

}  // namespace hone
