// The backend of an NVIDIA GPU. Its driver, and cuBLASLt, are loaded when it is opened.
#include "base/core/log.h"
#include "base/core/text.h"
#include "engine/backends/backends.h"
#include "engine/backends/cpu/backend.h"
#include "engine/backends/cuda/backend.h"
#include "engine/backends/cuda/joins.h"
#include "engine/backends/cuda/libraries/compile.h"
#include "engine/backends/cuda/libraries/errors.h"
#include "engine/backends/cuda/libraries/nccl.h"

namespace hone {

namespace {

Result<std::unique_ptr<Backend>> open_gpu(const BackendOptions& o) {
  const cuda::Driver driver = HONE_TRY(cuda::load_driver());
  const int newest = cuda::cuda_major(driver);
  const auto modules = [compiler = HONE_TRY(cuda::KernelCompiler::open(newest))](
                           const std::string& architecture, const std::set<std::string>& names) {
    return compiler.kernels_for(architecture, names);
  };
  CudaOptions options{.host = HONE_TRY(open_cpu_backend(o.threads, o.isa)),
                      .nccl = [](Group&) { return cuda::load_nccl(); },
                      .folder = cache_folder() + "/cuda",
                      .tune = environment("HONE_CUDA_TUNE") != "0",
                      .graphs = environment("HONE_CUDA_GRAPHS") != "0",
                      .threads = o.threads};
  if (auto blas = cuda::load_blas(newest); blas.ok())
    options.blas = *blas;
  else
    log_warning("{}: products do not use tensor cores ({})", blas.error().what(),
                blas.error().remedy());
  return make_cuda_backend(driver, o.ordinal, modules, options);
}

}  // namespace

BackendKind backend_cuda() {
  return {.name = "cuda",
          .about = "NVIDIA GPUs of capability 7.0 and up",
          .open = open_gpu,
          .devices =
              [](const BackendOptions&) {
                const auto gpus = known_gpus();
                return std::vector<DeviceSpec>(gpus.begin(), gpus.end());
              },
          .chooser = [](const DeviceSpec& spec) -> Chooser {
            return [gpu = choose_as_gpu(spec), host = cpu_spec(0)](const NodeView& n) {
              return n.node.lane == Lane::host_compute ? choose_cpu(n, host) : gpu(n);
            };
          },
          .join = cuda::join_nodes,
          .needs_device = true,
          .auto_rank = 2,
          .absent = &err::kNoDriver,
          .numbered = true};
}

}  // namespace hone
