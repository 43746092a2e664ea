#include "engine/backends/cuda/backend.h"

#include <map>

#include "engine/backends/cuda/launch_tables.h"
#include "engine/device/errors.h"

namespace hone {
namespace cuda {
namespace {

// A launch with its function, and room for its arguments: a run fills in addresses alone.
class Prepared {
 public:
  Prepared(Launch launch, CUfunction function) : launch_(std::move(launch)), function_(function) {
    const size_t count = launch_.arguments.size();
    addresses_.resize(count);
    values_.resize(count);
  }

  void start(const KernelArgs& a) {
    for (size_t i = 0; i < values_.size(); ++i) {
      LaunchArgument& g = launch_.arguments[i];
      values_[i] = g.of == LaunchArgument::Of::value ? static_cast<void*>(g.value.data())
                                                     : static_cast<void*>(&addresses_[i]);
      const void* base = g.of == LaunchArgument::Of::input    ? a.in[g.index]
                         : g.of == LaunchArgument::Of::output ? a.out[g.index]
                                                              : a.workspace;
      addresses_[i] = static_cast<const std::byte*>(base) + g.offset;
    }
    auto& queue = static_cast<CudaQueue&>(a.queue);
    const Driver& d = queue.device().driver();
    queue.device().keep(
        d.cuLaunchKernel(function_, launch_.grid_x, launch_.grid_y, launch_.grid_z, launch_.block_x,
                         launch_.block_y, 1, 0, queue.stream(), values_.data(), nullptr),
        launch_.kernel);
  }

 private:
  Launch launch_;
  CUfunction function_;
  std::vector<const std::byte*> addresses_;
  std::vector<void*> values_;
};

class CudaBackend : public Backend {
 public:
  CudaBackend(std::unique_ptr<CudaDevice> device, CUmodule module)
      : device_(std::move(device)), module_(module) {}
  ~CudaBackend() override {
    device_->keep(device_->driver().cuModuleUnload(module_), "cuModuleUnload");
  }

  std::string_view name() const override { return "cuda"; }
  Device& device() const override { return *device_; }
  std::string description() const override {
    return fmt::format("{}, {}", spec().name, spec().isa);
  }

  Result<Choice> choose(const NodeView& n) const override {
    const Launches l = HONE_TRY(launches_of(n));
    return Choice{"cuda." + n.node.op->name, l.workspace_bytes};
  }

  Result<Kernel> kernel(const NodeView& n) const override {
    Launches l = HONE_TRY(launches_of(n));
    auto prepared = std::make_shared<std::vector<Prepared>>();
    for (Launch& launch : l.launches) {
      const CUfunction function = HONE_TRY(function_of(launch.kernel));
      prepared->emplace_back(std::move(launch), function);
    }
    return Kernel{"cuda." + n.node.op->name, l.workspace_bytes, [prepared](const KernelArgs& a) {
                    for (Prepared& p : *prepared) p.start(a);
                  }};
  }

 private:
  Result<CUfunction> function_of(const std::string& name) const {
    CUfunction& f = functions_[name];
    if (f == nullptr)
      HONE_TRY(cuda_status(device_->driver(),
                           device_->driver().cuModuleGetFunction(&f, module_, name.c_str()),
                           "cuModuleGetFunction of " + name));
    return f;
  }

  std::unique_ptr<CudaDevice> device_;
  CUmodule module_;
  mutable std::map<std::string, CUfunction> functions_;
};

}  // namespace
}  // namespace cuda

Result<std::unique_ptr<Backend>> make_cuda_backend(const cuda::Driver& driver, int ordinal,
                                                   const void* image) {
  auto device = HONE_TRY(cuda::CudaDevice::open(driver, ordinal));
  cuda::CUmodule module = nullptr;
  HONE_TRY(cuda_status(driver, driver.cuModuleLoadData(&module, image), "cuModuleLoadData"));
  return std::unique_ptr<Backend>(std::make_unique<cuda::CudaBackend>(std::move(device), module));
}

}  // namespace hone
