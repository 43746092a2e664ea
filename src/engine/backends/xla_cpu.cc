// The backend of a PJRT plug-in for the CPU.
#include "base/core/text.h"
#include "engine/backends/backends.h"
#include "engine/backends/xla/backend.h"
#include "engine/backends/xla/errors.h"

namespace hone {

BackendKind backend_xla_cpu() {
  return {.name = "xla_cpu",
          .about = "whole programs through a PJRT plug-in for the CPU, as on a TPU, for tests",
          .open =
              [](const BackendOptions& o) {
                return xla::open_backend({.name = "xla_cpu",
                                          .platform = xla::Platform::cpu,
                                          .threads = o.threads,
                                          .ordinal = o.ordinal,
                                          .ranks = o.ranks,
                                          .cache = cache_folder() + "/xla"});
              },
          .needs_device = true,
          .absent = &err::kNoPlugin,
          .numbered = true,
          .devices_here = [] { return Result<int>(1); }};
}

}  // namespace hone
