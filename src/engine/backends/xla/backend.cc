#include "engine/backends/xla/backend.h"

#include <map>
#include <mutex>

#include "base/core/text.h"
#include "engine/backends/xla/executable.h"
#include "engine/backends/xla/write_ops.h"
#include "engine/device/errors.h"
#include "engine/device/host_device.h"

namespace hone::xla {
namespace {

class XlaBackend : public Backend {
 public:
  XlaBackend(const BackendSettings& settings, std::shared_ptr<const Client> client,
             std::shared_ptr<Together> together, std::unique_ptr<Device> host,
             const DeviceSpec& spec)
      : name_(settings.name),
        device_(std::move(client), settings.ordinal, std::move(together), std::move(host), spec) {}

  std::string_view name() const override { return name_; }

  Result<Choice> choose(const NodeView& n) const override {
    const Op& op = *n.node.op;
    if (op.traffic != nullptr && device_.together() == nullptr)
      return Error(err::kDeclined, "collectives between processes are not supported");
    return choose_planned(n);
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
  const Client& client() const { return device_.client(); }

 private:
  std::string name_;
  mutable XlaDevice device_;
};

// libtpu takes the chips for the whole process: one client is kept until its end.
Result<std::shared_ptr<const Client>> open_tpus(const ClientSettings& settings) {
  static std::mutex mutex;
  static auto& kept = *new std::shared_ptr<const Client>();
  const std::lock_guard lock(mutex);
  if (!kept)
    kept = HONE_TRY(
        Client::open(HONE_TRY(Plugin::load(HONE_TRY(find_plugin(Platform::tpu)))), settings));
  return kept;
}

Result<std::shared_ptr<const Client>> open_client(const BackendSettings& settings) {
  ClientSettings of_client{.cache = settings.cache, .keep_after_s = settings.keep_after_s};
  if (settings.platform == Platform::tpu) return open_tpus(of_client);
  const std::string file = HONE_TRY(find_plugin(settings.platform));
  const auto plugin = HONE_TRY(Plugin::load(file));
  if (settings.ranks > 1) of_client.devices = settings.ranks;
  return std::shared_ptr<const Client>(HONE_TRY(Client::open(plugin, of_client)));
}

// Ranks of a process that open a backend of one name share a client.
Result<std::shared_ptr<Together>> join_ranks(const BackendSettings& settings) {
  struct Joining {
    std::shared_ptr<Together> together;
    int joined = 0;
  };
  static std::mutex mutex;
  static std::map<std::string, Joining> incomplete;  // by name: until all ranks have joined
  const std::lock_guard lock(mutex);
  Joining& now = incomplete[settings.name];
  if (!now.together) {
    const auto client = HONE_TRY(open_client(settings));
    HONE_TRY(client->expect_device(settings.ranks - 1));
    now.together = std::make_shared<Together>(client, settings.ranks);
  }
  std::shared_ptr<Together> together = now.together;
  HONE_BUG_IF(together->ranks() != settings.ranks, "a rank of another run joins");
  if (++now.joined == settings.ranks) incomplete.erase(settings.name);
  return together;
}

const Client& client_of(const Backend& backend) {
  const auto* own = dynamic_cast<const XlaBackend*>(&backend);
  HONE_BUG_IF(own == nullptr, "{} compiles no programs", backend.name());
  return own->client();
}

}  // namespace

Result<std::unique_ptr<Backend>> open_backend(const BackendSettings& settings) {
  std::shared_ptr<Together> together;
  if (settings.ranks > 1) together = HONE_TRY(join_ranks(settings));
  const std::shared_ptr<const Client> client =
      together ? together->client() : HONE_TRY(open_client(settings));
  HONE_TRY(client->expect_device(settings.ordinal));
  const DeviceSpec host = host_spec(settings.name, settings.threads);
  DeviceSpec spec = host;
  spec.kernels = settings.name;
  spec.own_memory = true;
  spec.isa = client->device_kinds()[static_cast<size_t>(settings.ordinal)];
  spec.multiplies_bf16 = settings.platform == Platform::tpu;
  if (const int64_t bytes = client->memory_bytes(settings.ordinal); bytes > 0)
    spec.memory_bytes = bytes;
  else
    spec.memory_bytes /= settings.ranks;  // they share the memory of the machine
  return std::unique_ptr<Backend>(std::make_unique<XlaBackend>(
      settings, client, std::move(together), std::make_unique<HostDevice>(host), spec));
}

Result<Choice> choose_planned(const NodeView& n) {
  const Op& op = *n.node.op;
  if (!writes(n))
    return Error(err::kDeclined,
                 op.decompositions.empty() ? "the op is not supported" : "it is decomposed");
  if (op.traffic && n.attrs().has("stride"))
    return Error(err::kDeclined, "the replicas of a module are not divided into axes of a mesh");
  if (op.traffic && n.attrs().has("owners"))
    for (const int64_t owner : n.integers("owners"))
      if (owner >= 0)
        return Error(err::kDeclined, "tensors that a single rank updates are not supported");
  Choice made{"xla." + op.name};
  made.fused = op.name == "iota" || op.name == "broadcast" ||
               (n.node.phase == Phase::update && is_elementwise(op));
  return made;
}

Result<int> tpus_here(const std::string& cache) {
  const auto client = HONE_TRY(open_tpus({.cache = cache}));
  return static_cast<int>(client->device_kinds().size());
}

int64_t compiles_of(const Backend& backend) { return client_of(backend).compiles(); }
int64_t loads_of(const Backend& backend) { return client_of(backend).loads(); }

}  // namespace hone::xla
