#include "engine/backends/cuda/backend.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/core/hash.h"
#include "base/core/log.h"
#include "engine/backends/cuda/graphs.h"
#include "engine/backends/cuda/joins.h"
#include "engine/backends/cuda/launch_ranks.h"
#include "engine/backends/cuda/launch_tables.h"
#include "engine/backends/cuda/libraries/errors.h"
#include "engine/backends/cuda/product_timer.h"
#include "engine/device/accesses.h"
#include "engine/device/errors.h"
#include "engine/device/lower.h"

namespace hone {
namespace cuda {
namespace {

// Bytes of a block, beside 8 KiB that a kernel has always.
constexpr int kSharedWithoutAsking = 40 << 10;

// A launch with its function, and room for its arguments: a run fills in addresses alone.
class Prepared {
 public:
  Prepared(Launch launch, CUfunction function, const NodeView& n, int64_t workspace_bytes)
      : launch_(std::move(launch)), function_(function) {
    const size_t count = launch_.arguments.size();
    addresses_.resize(count);
    values_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      using Of = LaunchArgument::Of;
      LaunchArgument& g = launch_.arguments[i];
      values_[i] = g.of == Of::value ? static_cast<void*>(g.value.data()) : &addresses_[i];
      const auto access = [&](Of of, size_t index) {
        const int64_t bytes = of == Of::input    ? n.in(index).bytes()
                              : of == Of::output ? n.out(index).bytes()
                                                 : workspace_bytes;
        accesses_.push_back({.bytes = bytes, .writes = of != Of::input});
      };
      if (g.of != Of::value) access(g.of, g.index);
      for (const LaunchArgument::Address& in : g.addresses) access(in.of, in.index);
    }
  }
  Prepared(Prepared&&) = default;  // lists keep their places

  // The same for a product of the library.
  Prepared(Launch launch, LtProduct product, const NodeView& n, int64_t workspace_bytes)
      : Prepared(std::move(launch), CUfunction(), n, workspace_bytes) {
    product_ = std::move(product);
  }

  void start(const KernelArgs& a) {
    size_t noted = 0;
    const auto address = [&](LaunchArgument::Of of, size_t index, int64_t offset) {
      const void* base = of == LaunchArgument::Of::input    ? a.in[index]
                         : of == LaunchArgument::Of::output ? a.out[index]
                                                            : a.workspace;
      accesses_[noted++].at = base;
      return static_cast<const std::byte*>(base) + offset;
    };
    for (size_t i = 0; i < addresses_.size(); ++i) {
      LaunchArgument& g = launch_.arguments[i];
      if (g.of != LaunchArgument::Of::value) addresses_[i] = address(g.of, g.index, g.offset);
      for (const LaunchArgument::Address& in : g.addresses) {
        const std::byte* at = address(in.of, in.index, in.offset);
        std::memcpy(g.value.data() + in.at, &at, sizeof at);
      }
    }
    if (launch_.only_apart && addresses_[0] == addresses_[1]) return;
    auto& queue = static_cast<CudaQueue&>(a.queue);
    if (product_) return multiply(queue);
    note_accesses(accesses_);
    const Driver& d = queue.device().driver();
    queue.device().keep(
        d.cuLaunchKernel(function_, launch_.grid_x, launch_.grid_y, launch_.grid_z, launch_.block_x,
                         launch_.block_y, 1, static_cast<unsigned>(launch_.shared_bytes),
                         queue.stream(), values_.data(), nullptr),
        launch_.kernel);
  }

 private:
  void multiply(CudaQueue& queue) {
    const auto& at = addresses_;  // null: no such argument
    const auto written = [&](size_t i) { return const_cast<std::byte*>(at[i]); };
    const cublasStatus_t status = product_->run(queue.stream(), {.x = at[0],
                                                                 .y = at[1],
                                                                 .bias = at[2],
                                                                 .onto = at[3],
                                                                 .z = written(4),
                                                                 .pre = written(6),
                                                                 .workspace = written(5)});
    if (status != CUBLAS_STATUS_SUCCESS)
      queue.device().keep(
          Error(err::kCudaFails,
                fmt::format("cublasLtMatmul failed (cuBLAS status {})", static_cast<int>(status))));
  }

  Launch launch_;
  CUfunction function_;
  std::optional<LtProduct> product_;
  std::vector<const std::byte*> addresses_;
  std::vector<void*> values_;
  std::vector<Access> accesses_;  // of whole tensors
};

// Those of a run whose results are written over their operands.
int64_t count_of(const std::vector<Launch>& launches) {
  return std::count_if(launches.begin(), launches.end(),
                       [](const Launch& l) { return !l.only_apart; });
}

// Chooses the launches of a node, with or without a GPU.
class LaunchChooser {
 public:
  explicit LaunchChooser(const LaunchOptions& options)
      : with_library_(options.library), table_(launch_table(options)) {}
  Result<Launches> launches(const NodeView& n) const { return launches_of(table_, n); }
  // Products by the library have other bits.
  std::string id(const NodeView& n) const {
    return fmt::format("{}.{}", with_library_ && n.node.op->product ? "cuda.lt" : "cuda",
                       n.node.op->name);
  }
  Result<Choice> operator()(const NodeView& n) const {
    if (is_collective(n)) return gpu_rank_choice(n);
    Launches all = HONE_TRY(launches(n));
    return Choice{id(n), all.workspace_bytes, std::move(all.note), count_of(all.launches)};
  }

 private:
  bool with_library_;
  LaunchTable table_;
};

class CudaBackend : public Backend {
 public:
  CudaBackend(const CudaOptions& options, std::optional<LtHandle> blas,
              std::unique_ptr<CudaDevice> device, KernelModules modules)
      : owner_(options.owner),
        host_(options.host),
        name_(options.name),
        load_nccl_(options.nccl),
        graphs_(options.graphs),
        tunes_(options.tune),
        device_(std::move(device)),
        modules_(std::move(modules)),
        blas_(std::move(blas)),
        choose_(options_of(options, blas_.has_value())),
        apart_(without_slopes(options_of(options, blas_.has_value()))),
        own_(options_of(options, false)),
        algorithms_(algorithms_of(options)) {}
  ~CudaBackend() override {
    for (const CUmodule m : loaded_)
      device_->keep(device_->driver().cuModuleUnload(m), "cuModuleUnload");
  }

  std::string_view name() const override { return name_; }
  Device& device() const override { return *device_; }
  std::string description() const override {
    return fmt::format("{}, {}", spec().name, spec().isa);
  }

  Result<Choice> choose(const NodeView& n) const override {
    if (n.node.lane == Lane::host_compute) return host_->choose(n);
    if (is_collective(n)) return gpu_rank_choice(n);
    Chosen c = HONE_TRY(launches(n));
    std::string id = HONE_TRY(id_of(n, c));
    return Choice{std::move(id), c.all.workspace_bytes, std::move(c.all.note),
                  count_of(c.all.launches)};
  }

  Result<Kernel> kernel(const NodeView& n) const override {
    if (n.node.lane == Lane::host_compute) {
      Kernel k = HONE_TRY(host_->kernel(n));
      auto run = [run = std::move(k.run), host = host_](const KernelArgs& a) {
        run({a.in, a.out, a.workspace, host->device().queue(Lane::compute)});
      };
      return Kernel{k.id, k.workspace_bytes, std::move(run)};
    }
    if (is_collective(n)) return rank_kernel(n);
    Chosen chosen = HONE_TRY(launches(n));
    std::string id = HONE_TRY(id_of(n, chosen));
    Launches& l = chosen.all;
    std::set<std::string> names;
    add_names(l, names);
    HONE_TRY(load(names));
    auto prepared = std::make_shared<std::vector<Prepared>>();
    for (Launch& launch : l.launches) {
      if (launch.library) {
        LtProduct product = HONE_TRY(product_of(*launch.library));
        prepared->emplace_back(std::move(launch), std::move(product), n, l.workspace_bytes);
        continue;
      }
      const CUfunction function = functions_.at(launch.kernel);
      if (launch.shared_bytes > kSharedWithoutAsking)
        HONE_TRY(cuda_status(
            device_->driver(),
            device_->driver().cuFuncSetAttribute(
                function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared_bytes),
            "cuFuncSetAttribute of " + launch.kernel));
      prepared->emplace_back(std::move(launch), function, n, l.workspace_bytes);
    }
    return Kernel{std::move(id), l.workspace_bytes, [prepared](const KernelArgs& a) {
                    for (Prepared& p : *prepared) p.start(a);
                  }};
  }

  bool join(Program& p) const override { return join_nodes(p); }

  Result<std::unique_ptr<Executable>> compile(std::span<const Program> programs,
                                              const RunPlan& plan) const override {
    HONE_TRY(join_ranks(programs));
    HONE_TRY(load(HONE_TRY(names_of(programs))));
    auto list = HONE_TRY(make_node_list(*this, programs, plan));
    return graphs_ ? make_graphs(*device_, std::move(list), programs.size()) : std::move(list);
  }

 private:
  // Connects the GPUs of the group, before the first programs that need it.
  Status join_ranks(std::span<const Program> programs) const {
    Group* const group = device_->group();
    if (ranks_ || group == nullptr || group->ranks() == 1) return Ok{};
    for (const Program& p : programs)
      for (const Node& node : p.nodes)
        if (!ranks_ && joins_ranks({p, node}))
          ranks_ = HONE_TRY(RankComm::connect(*device_, load_nccl_, *group));
    return Ok{};
  }
  Result<Kernel> rank_kernel(const NodeView& n) const {
    const std::string sum = rank_sum_kernel(n);
    if (!sum.empty()) HONE_TRY(load({sum}));
    return gpu_rank_kernel(n, *device_, ranks_.get(), sum.empty() ? nullptr : functions_.at(sum));
  }
  LaunchOptions options_of(const CudaOptions& options, bool library) const {
    LaunchOptions o = launch_options(spec());
    o.library = library;
    o.library_bytes = options.blas_bytes.value_or(o.library_bytes);
    return o;
  }
  static LaunchOptions without_slopes(LaunchOptions o) {
    o.slopes = false;
    return o;
  }
  Algorithms algorithms_of(const CudaOptions& options) const {
    if (!blas_ || options.folder.empty()) return {};
    std::string gpu = spec().name;
    std::replace_if(
        gpu.begin(), gpu.end(), [](char c) { return c == ' ' || c == '/'; }, '-');
    return Algorithms(
        fmt::format("{}/{}-cublaslt-{}.algorithms", options.folder, gpu, blas_->version()));
  }
  ProductTimer timer() const {
    if (!tunes_) return {};
    return [this](const LtProduct& p) { return product_seconds(*device_, p); };
  }
  // Those of the table, where the library has all that they ask for; else hone's own kernels.
  struct Chosen {
    Launches all;
    bool own = false;
  };
  Result<Chosen> launches(const NodeView& n) const {
    Launches all = HONE_TRY(choose_.launches(n));
    if (lacks_slope(all)) all = HONE_TRY(apart_.launches(n));
    for (size_t i = 0; i < all.launches.size(); ++i) {
      const auto& product = all.launches[i].library;
      if (!product) continue;
      const auto made = product_of(*product);
      if (made.ok()) continue;
      std::vector<Launch> both;
      if (product->gelu) both = without_gelu(all.launches[i]);
      if (both.empty() || !product_of(*both[0].library).ok()) {
        Launches own = HONE_TRY(own_.launches(n));
        own.note = made.error().what();
        if (warned_.insert(product->text()).second)
          log_warning("a product is multiplied by hone's own kernel, which is slow: {}", own.note);
        return Chosen{std::move(own), true};
      }
      all.launches[i] = std::move(both[0]);
      all.launches.insert(all.launches.begin() + static_cast<int64_t>(i) + 1, std::move(both[1]));
    }
    return Chosen{std::move(all)};
  }
  bool lacks_slope(const Launches& all) const {
    return std::any_of(all.launches.begin(), all.launches.end(), [&](const Launch& l) {
      return l.library && l.library->slope && !product_of(*l.library).ok();
    });
  }
  Result<LtProduct> product_of(const LibraryProduct& p) const {
    const std::string name = p.text();
    device_->make_current();
    auto found = products_.find(name);
    if (found == products_.end())
      found =
          products_.emplace(name, HONE_TRY(LtProduct::make(*blas_, p, algorithms_, timer()))).first;
    return found->second;
  }
  // The algorithms of products decide bits too.
  Result<std::string> id_of(const NodeView& n, const Chosen& c) const {
    std::string id = c.own ? own_.id(n) : choose_.id(n);
    uint64_t hash = 0;
    for (const Launch& l : c.all.launches) {
      if (!l.library) continue;
      if (hash == 0) hash = fnv1a(blas_->version());
      const LtProduct product = HONE_TRY(product_of(*l.library));
      for (const uint64_t part : product.algorithm().data) hash = fnv1a(hash, part);
    }
    return hash == 0 ? id : fmt::format("{}.{:016x}", id, hash);
  }
  static void add_names(const Launches& all, std::set<std::string>& names) {
    for (const Launch& l : all.launches)
      if (!l.library) names.insert(l.kernel);
  }
  // The kernels of all nodes that are computed on the device.
  Result<std::set<std::string>> names_of(std::span<const Program> programs) const {
    std::set<std::string> names;
    for (const Program& p : programs)
      for (const Node& node : p.nodes) {
        const NodeView n{p, node};
        if (is_collective(n) && !node.op->gathers) names.insert(rank_sum_kernel(n));
        if (is_collective(n)) continue;
        if (node.lane != Lane::compute || node.op->copies || node.op->waits || is_view(n)) continue;
        add_names(HONE_TRY(launches(n)).all, names);
      }
    return names;
  }
  // Loads the kernels that are not loaded.
  Status load(const std::set<std::string>& names) const {
    std::set<std::string> missing;
    for (const std::string& name : names)
      if (!functions_.contains(name)) missing.insert(name);
    if (missing.empty()) return Ok{};
    const Driver& d = device_->driver();
    device_->make_current();
    for (const KernelModule& m : HONE_TRY(modules_(spec().isa, missing))) {
      CUmodule module = nullptr;
      HONE_TRY(cuda_status(d, d.cuModuleLoadData(&module, m.cubin.c_str()), "cuModuleLoadData"));
      loaded_.push_back(module);
      for (const std::string& name : m.kernels)
        HONE_TRY(cuda_status(d, d.cuModuleGetFunction(&functions_[name], module, name.c_str()),
                             "cuModuleGetFunction of " + name));
    }
    for (const std::string& name : missing)
      HONE_BUG_IF(!functions_.contains(name), "no module has the kernel {}", name);
    return Ok{};
  }

  const std::shared_ptr<void> owner_;  // goes last
  const std::shared_ptr<Backend> host_;
  const std::string name_;
  const LoadNccl load_nccl_;
  const bool graphs_, tunes_;
  std::unique_ptr<CudaDevice> device_;
  mutable std::unique_ptr<RankComm> ranks_;
  const KernelModules modules_;
  const std::optional<LtHandle> blas_;  // needs the device's context
  // apart_: without slopes in products; own_: without the library
  const LaunchChooser choose_, apart_, own_;
  mutable Algorithms algorithms_;
  mutable std::map<std::string, LtProduct> products_;
  mutable std::set<std::string> warned_;  // products
  mutable std::vector<CUmodule> loaded_;
  mutable std::map<std::string, CUfunction> functions_;
};

}  // namespace
}  // namespace cuda

Result<std::unique_ptr<Backend>> make_cuda_backend(const cuda::Driver& driver, int ordinal,
                                                   KernelModules modules,
                                                   const CudaOptions& options) {
  auto device =
      HONE_TRY(cuda::CudaDevice::open(driver, ordinal, options.threads, options.host != nullptr));
  std::optional<cuda::LtHandle> blas;
  if (options.blas) blas = HONE_TRY(cuda::LtHandle::open(*options.blas));
  return std::unique_ptr<Backend>(std::make_unique<cuda::CudaBackend>(
      options, std::move(blas), std::move(device), std::move(modules)));
}

std::function<Result<Choice>(const NodeView& n)> choose_as_gpu(const DeviceSpec& spec) {
  return cuda::LaunchChooser(cuda::launch_options(spec));
}

}  // namespace hone
