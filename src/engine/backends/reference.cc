// The backend of plain loops in double precision.
#include "engine/backends/reference/reference.h"

#include "engine/backends/backends.h"

namespace hone {

BackendKind backend_reference() {
  return {.name = "reference",
          .about = "plain loops in double precision, slow, for comparison",
          .open = [](const BackendOptions&) -> Result<std::unique_ptr<Backend>> {
            return make_reference_backend();
          }};
}

}  // namespace hone
