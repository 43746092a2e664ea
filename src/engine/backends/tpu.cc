// The backend of TPUs, through libtpu.
#include "engine/backends/backends.h"
#include "engine/backends/xla/backend.h"
#include "engine/backends/xla/errors.h"

namespace hone {

BackendKind backend_tpu() {
  return {.name = "tpu",
          .about = "TPUs, through the PJRT plug-in libtpu",
          .open =
              [](const BackendOptions& o) {
                return xla::open_backend({.name = "tpu",
                                          .platform = xla::Platform::tpu,
                                          .threads = o.threads,
                                          .ordinal = o.ordinal});
              },
          .needs_device = true,
          .absent = &err::kNoTpu,
          .numbered = true};
}

}  // namespace hone
