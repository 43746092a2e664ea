#include "engine/backends/cuda/emulator/emulated.h"

#include "base/core/error.h"
#include "base/core/log.h"
#include "engine/backends/cuda/backend.h"
#include "engine/backends/cuda/emulator/fake_blas.h"
#include "engine/backends/cuda/emulator/fake_nccl.h"
#include "engine/backends/cuda/emulator/kernels.h"

namespace hone {

Result<std::unique_ptr<Backend>> make_emulated_cuda_backend(const cuda::FakeOptions& options,
                                                            int threads,
                                                            std::shared_ptr<Backend> host,
                                                            bool with_blas) {
  cuda::add_emulated_kernels();
  const auto close = [](cuda::FakeDriver* opened) {
    const std::unique_ptr<cuda::FakeDriver> driver(opened);
    const std::vector<std::string> findings = driver->finish();
    for (const std::string& f : findings) log_error("cuda_emulated {}", f);
    HONE_BUG_IF(!findings.empty(), "the use of the CUDA driver is wrong: {}", findings[0]);
  };
  const std::shared_ptr<cuda::FakeDriver> driver(new cuda::FakeDriver(options), close);
  // A group beside that of the run, because messages of a stream are exchanged at any time.
  const auto nccl = [carrier =
                         std::shared_ptr<Group>()](Group& group) mutable -> Result<cuda::Nccl> {
    if (cuda::fake_nccl_carrier == nullptr) {
      carrier = {HONE_TRY(group.another("gpus")).release(), [](Group* g) {
                   cuda::fake_nccl_carrier = nullptr;
                   delete g;
                 }};
      cuda::fake_nccl_carrier = carrier.get();
    }
    return cuda::fake_nccl();
  };
  return make_cuda_backend(driver->table(), 0, cuda::emulated_modules,
                           {.name = "cuda_emulated",
                            .host = std::move(host),
                            .blas = with_blas ? std::optional(cuda::fake_blas()) : std::nullopt,
                            .blas_bytes = 1 << 10,
                            .nccl = nccl,
                            .threads = threads,
                            .owner = driver});
}

}  // namespace hone
