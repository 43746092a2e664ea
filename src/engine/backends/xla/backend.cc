#include "engine/backends/xla/backend.h"

#include "base/core/text.h"
#include "engine/backends/xla/executable.h"
#include "engine/backends/xla/write_ops.h"
#include "engine/device/errors.h"
#include "engine/device/host_device.h"

namespace hone::xla {
namespace {

class XlaBackend : public Backend {
 public:
  XlaBackend(std::string name, std::unique_ptr<Client> client, std::unique_ptr<Device> host,
             const DeviceSpec& spec)
      : name_(std::move(name)), device_(std::move(client), std::move(host), spec) {}

  std::string_view name() const override { return name_; }

  Result<Choice> choose(const NodeView& n) const override {
    const Op& op = *n.node.op;
    if (op.traffic != nullptr)
      return Error(err::kDeclined, "collectives between processes are not supported");
    if (writer_of(op) == nullptr)
      return Error(err::kDeclined,
                   op.decompositions.empty() ? "the op is not supported" : "it is decomposed");
    return Choice{"xla." + op.name};
  }
  Result<Kernel> kernel(const NodeView& n) const override {
    HONE_TRY(choose(n));
    return Error(err::kDeclined, "programs are compiled whole");
  }
  Result<std::unique_ptr<Executable>> compile(std::span<const Program> programs,
                                              const RunPlan& plan) const override {
    return make_executable(device_, programs, plan);
  }
  Device& device() const override { return device_; }
  std::string description() const override {
    const Client& c = device_.client();
    return fmt::format("{} ({}) through {}, PJRT {}", c.platform(), c.platform_version(),
                       c.plugin().file(), c.plugin().version());
  }
  int64_t compiles() const { return device_.client().compiles(); }

 private:
  std::string name_;
  mutable XlaDevice device_;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_backend(const BackendSettings& settings) {
  const std::string file = HONE_TRY(find_plugin(settings.platform));
  const auto plugin = HONE_TRY(Plugin::load(file));
  std::unique_ptr<Client> client = HONE_TRY(Client::open(plugin, settings.ordinal));
  const DeviceSpec host = host_spec(settings.name, settings.threads);
  DeviceSpec spec = host;
  spec.kernels = settings.name;
  spec.own_memory = true;
  spec.isa = client->device_kinds()[static_cast<size_t>(settings.ordinal)];
  spec.multiplies_bf16 = settings.platform == Platform::tpu;
  if (client->memory_bytes() > 0) spec.memory_bytes = client->memory_bytes();
  return std::unique_ptr<Backend>(std::make_unique<XlaBackend>(
      settings.name, std::move(client), std::make_unique<HostDevice>(host), spec));
}

int64_t compiles_of(const Backend& backend) {
  const auto* own = dynamic_cast<const XlaBackend*>(&backend);
  HONE_BUG_IF(own == nullptr, "{} compiles no programs", backend.name());
  return own->compiles();
}

}  // namespace hone::xla
