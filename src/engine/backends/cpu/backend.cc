#include "engine/backends/cpu/backend.h"

#include "engine/backends/cpu/backend_kernels.h"
#include "engine/backends/cpu/kernels/isa.h"
#include "engine/device/errors.h"

namespace hone {
namespace cpu {
namespace {

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(int threads) : threads_(threads) {
    for (const Makers& list :
         {matrix_makers(), attention_makers(), row_makers(), update_makers(), loop_makers()})
      for (const Maker& m : list) makers_[std::string(m.op)].push_back(m);
  }
  std::string_view name() const override { return "cpu"; }
  Result<Kernel> kernel(const NodeView& n) const override {
    auto found = makers_.find(n.node.op->name);
    if (found == makers_.end()) return declined(n, "no kernel of its own");
    // The reason of the first is the better one: it is the fastest kernel.
    Result<Kernel> first = found->second[0].make(n, threads_);
    for (size_t i = 1; !first && i < found->second.size(); ++i)
      if (Result<Kernel> other = found->second[i].make(n, threads_)) return other;
    return first;
  }
  int threads() const override { return threads_; }
  std::string description() const override {
    return fmt::format("{}, {} threads", isa_name(isa()), threads_);
  }

 private:
  int threads_;
  std::map<std::string, Makers, std::less<>> makers_;
};

}  // namespace

Error declined(const NodeView& n, const std::string& why) {
  return Error(err::kDeclined, fmt::format("cpu: {}: {}", n.node.op->name, why));
}

}  // namespace cpu

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return std::make_unique<cpu::CpuBackend>(threads);
}

}  // namespace hone
