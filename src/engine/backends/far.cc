// The backend of a device whose memory the host cannot touch.
#include "engine/backends/far/far.h"

#include "engine/backends/backends.h"
#include "engine/backends/cpu/backend.h"

namespace hone {

BackendKind backend_far() {
  return {.name = "far",
          .about = "the CPU's kernels on memory that the host may not touch, for tests",
          .open = [](const BackendOptions& o) -> Result<std::unique_ptr<Backend>> {
            return make_far_backend(HONE_TRY(open_cpu_backend(o.threads, o.isa)));
          }};
}

}  // namespace hone
