#include "engine/backends/cpu/backend.h"

#include "engine/backends/cpu/backend_kernels.h"
#include "engine/backends/cpu/kernels/isa.h"

namespace hone {
namespace {

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(int threads) : threads_(threads) {}
  std::string_view name() const override { return "cpu"; }
  Result<Kernel> kernel(const NodeView& n) const override {
    Result<Kernel> fused = cpu::composite_kernel(n, threads_);
    if (fused) return fused;
    Result<Kernel> loop = cpu::primitive_kernel(n);
    return loop ? std::move(loop)
                : std::move(fused);  // the fused kernel's reason is the better one
  }
  std::string description() const override {
    return fmt::format("{}, {} threads", cpu::isa_name(cpu::isa()), threads_);
  }

 private:
  int threads_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return std::make_unique<CpuBackend>(threads);
}

}  // namespace hone
