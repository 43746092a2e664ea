// The backend of TPUs, through libtpu.
#include "base/core/text.h"
#include "engine/backends/backends.h"
#include "engine/backends/xla/backend.h"
#include "engine/backends/xla/errors.h"
#include "engine/device/tpus.h"

namespace hone {

BackendKind backend_tpu() {
  return {.name = "tpu",
          .about = "TPUs, through the PJRT plug-in libtpu",
          .open =
              [](const BackendOptions& o) {
                return xla::open_backend({.name = "tpu",
                                          .platform = xla::Platform::tpu,
                                          .threads = o.threads,
                                          .ordinal = o.ordinal,
                                          .ranks = o.ranks,
                                          .cache = cache_folder() + "/xla"});
              },
          .devices =
              [](const BackendOptions&) {
                const auto tpus = known_tpus();
                return std::vector<DeviceSpec>(tpus.begin(), tpus.end());
              },
          .chooser = [](const DeviceSpec&) -> Chooser { return xla::choose_planned; },
          .needs_device = true,
          .absent = &err::kNoTpu,
          .numbered = true,
          .devices_here = [] { return xla::tpus_here(cache_folder() + "/xla"); }};
}

}  // namespace hone
