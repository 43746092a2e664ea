#include "engine/backends/cuda/cuda.h"

#include "engine/backends/backends.h"

namespace hone {

BackendKind backend_cuda() {
  return {.name = "cuda",
          .about = "NVIDIA GPUs: plans only, no kernels yet",
          .devices =
              [](const BackendOptions&) {
                const auto gpus = known_gpus();
                return std::vector<DeviceSpec>(gpus.begin(), gpus.end());
              },
          .choose = choose_cuda};
}

}  // namespace hone
