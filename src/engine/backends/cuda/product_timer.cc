#include "engine/backends/cuda/product_timer.h"

#include <algorithm>

#include "base/core/clock.h"
#include "engine/backends/cuda/libraries/errors.h"

namespace hone::cuda {
namespace {

int64_t size_of_type(cudaDataType t) { return t == CUDA_R_64F ? 8 : t == CUDA_R_32F ? 4 : 2; }

}  // namespace

Result<double> product_seconds(CudaDevice& device, const LtProduct& product) {
  constexpr int kRuns = 4;
  const LibraryProduct& p = product.product();
  std::vector<std::unique_ptr<Memory>> kept;
  const auto take = [&](bool is_there, int64_t count, cudaDataType t) -> Result<std::byte*> {
    if (!is_there) return static_cast<std::byte*>(nullptr);
    kept.push_back(HONE_TRY(device.allocate(Space::device, count * size_of_type(t), "")));
    return kept.back()->data();
  };
  // Rows may be further apart than they are long.
  const int64_t result = p.batches * p.m * std::max(p.n, p.step_z);
  const int64_t rows_x = p.trans_x ? p.k : p.m, rows_y = p.trans_y ? p.n : p.k;
  LtProduct::Operands o;
  o.x = HONE_TRY(take(true, p.batches * rows_x * std::max(p.m * p.k / rows_x, p.step_x), p.type));
  o.y = HONE_TRY(take(true, p.batches * rows_y * std::max(p.k * p.n / rows_y, p.step_y), p.type));
  std::byte* z = HONE_TRY(take(true, result, p.result));
  o.z = z;
  o.onto = p.has_onto ? z : nullptr;
  o.bias = HONE_TRY(take(p.has_bias || p.sums, p.n, p.result));
  o.pre = HONE_TRY(take(p.keeps_pre || p.slope, result, p.result));
  kept.push_back(HONE_TRY(device.allocate(Space::device, p.workspace_bytes, "")));
  o.workspace = kept.back()->data();

  auto& queue = static_cast<CudaQueue&>(device.queue(Lane::compute));
  const auto run = [&]() -> Status {
    const cublasStatus_t status = product.run(queue.stream(), o);
    if (status == CUBLAS_STATUS_SUCCESS) return Ok{};
    return Error(err::kCudaFails,
                 fmt::format("cublasLtMatmul failed (cuBLAS status {})", static_cast<int>(status)));
  };
  HONE_TRY(run());  // loads the kernel
  queue.finish();
  const double start = system_clock().seconds();
  for (int i = 0; i < kRuns; ++i) HONE_TRY(run());
  queue.finish();
  return (system_clock().seconds() - start) / kRuns;
}

}  // namespace hone::cuda
