#include "engine/backends/far/far.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "engine/device/errors.h"
#include "engine/device/lane_queue.h"

namespace hone {
namespace {

// The blocks of far memory, by the addresses that are given out.
class Window {
 public:
  // Reserves addresses for bytes that are at `real`.
  Result<std::byte*> add(std::byte* real, int64_t bytes) {
    void* at = mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
      return Error(err::kNoMemory, fmt::format("the system refuses {} bytes of addresses: {}",
                                               bytes, std::strerror(errno)));
    blocks_[static_cast<std::byte*>(at)] = {real, bytes};
    return static_cast<std::byte*>(at);
  }
  void remove(std::byte* at) {
    munmap(at, static_cast<size_t>(blocks_.at(at).bytes));
    blocks_.erase(at);
  }
  // The host address of the bytes at a far address; a host address maps to itself.
  void* real(const void* address) const {
    auto* a = static_cast<std::byte*>(const_cast<void*>(address));
    auto after = blocks_.upper_bound(a);
    if (after == blocks_.begin()) return a;
    const auto& [begin, block] = *std::prev(after);
    return a < begin + block.bytes ? block.real + (a - begin) : a;
  }

 private:
  struct Block {
    std::byte* real = nullptr;
    int64_t bytes = 0;
  };
  std::map<std::byte*, Block> blocks_;
};

class FarMemory : public Memory {
 public:
  FarMemory(Window& window, std::unique_ptr<Memory> real, std::byte* at)
      : window_(window), real_(std::move(real)) {
    data_ = at;
    bytes_ = real_->bytes();
  }
  ~FarMemory() override { window_.remove(data_); }
  int64_t resident_bytes() const override { return real_->resident_bytes(); }

 private:
  Window& window_;
  std::unique_ptr<Memory> real_;
};

class FarQueue : public Queue {
 public:
  FarQueue(Queue& host, const Window& window) : host_(host), window_(window) {}

  void copy(std::span<const Copy> copies) override {
    copies_.clear();
    for (const Copy& c : copies)
      copies_.push_back({window_.real(c.to), window_.real(c.from), c.bytes, c.whole});
    host_.copy(copies_);
  }
  void zero(void* to, int64_t bytes) override { host_.zero(window_.real(to), bytes); }
  uint64_t record() override { return host_.record(); }
  void wait(Queue& other, uint64_t mark) override {
    host_.wait(static_cast<FarQueue&>(other).host_, mark);
  }
  void finish() override { host_.finish(); }
  void run(const std::function<void()>& work) override { host_.run(work); }
  Queue& host() { return host_; }

  void run(const Kernel& kernel, size_t inputs, size_t outputs, const KernelArgs& a) {
    in_.clear();
    out_.clear();
    for (size_t i = 0; i < inputs; ++i) in_.push_back(window_.real(a.in[i]));
    for (size_t k = 0; k < outputs; ++k) out_.push_back(window_.real(a.out[k]));
    kernel.run({in_.data(), out_.data(), window_.real(a.workspace), host_});
  }

 private:
  Queue& host_;
  const Window& window_;
  // Kept from call to call, so that a step allocates nothing.
  std::vector<Copy> copies_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

class FarDevice : public Device {
 public:
  explicit FarDevice(Device& host) : host_(host), spec_(host.spec()) {
    spec_.name = "far";
    spec_.host_lane = HostLane::apart;
  }
  const DeviceSpec& spec() const override { return spec_; }
  Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes,
                                           const std::string& folder) override {
    std::unique_ptr<Memory> real = HONE_TRY(host_.allocate(space, bytes, folder));
    if (space != Space::device) return real;
    std::byte* at = HONE_TRY(window_.add(real->data(), real->bytes()));
    return std::unique_ptr<Memory>(std::make_unique<FarMemory>(window_, std::move(real), at));
  }
  Queue& queue(Lane lane) override {
    std::unique_ptr<FarQueue>& queue = queues_[static_cast<size_t>(lane)];
    if (queue) return *queue;
    if (lane == Lane::host_compute) {
      host_lane_ = std::make_unique<LaneQueue>(host_.pool(), no_disk_);
      queue = std::make_unique<FarQueue>(*host_lane_, window_);
    } else {
      queue = std::make_unique<FarQueue>(host_.queue(lane), window_);
    }
    return *queue;
  }
  ThreadPool& pool() override { return host_.pool(); }
  bool host_memory() const override { return false; }
  Status check() const override { return host_.check(); }
  void set_group(Group* group) override {
    Device::set_group(group);
    host_.set_group(group);  // whose backend makes the kernels
  }
  std::string disk_access() const override { return host_.disk_access(); }

 private:
  Device& host_;
  DeviceSpec spec_;
  Window window_;
  DiskBlocks no_disk_;
  std::unique_ptr<LaneQueue>
      host_lane_;  // beside compute, in turns with it on the threads of the pool
  std::array<std::unique_ptr<FarQueue>, kLaneCount> queues_;
};

class FarBackend : public Backend {
 public:
  explicit FarBackend(std::unique_ptr<Backend> host)
      : host_(std::move(host)), device_(host_->device()) {}
  std::string_view name() const override { return "far"; }
  Result<Choice> choose(const NodeView& n) const override { return host_->choose(n); }
  Result<Kernel> kernel(const NodeView& n) const override {
    Kernel k = HONE_TRY(host_->kernel(n));
    Kernel far{k.id, k.workspace_bytes, {}};
    if (n.node.lane == Lane::host_compute) {  // on the host's own memory
      far.run = [k = std::move(k)](const KernelArgs& a) {
        k.run({a.in, a.out, a.workspace, static_cast<FarQueue&>(a.queue).host()});
      };
      return far;
    }
    far.run = [k = std::move(k), inputs = n.node.in.size(),
               outputs = n.node.out.size()](const KernelArgs& a) {
      static_cast<FarQueue&>(a.queue).run(k, inputs, outputs, a);
    };
    return far;
  }
  size_t decomposition(const NodeView& n) const override { return host_->decomposition(n); }
  Device& device() const override { return device_; }
  std::string description() const override {
    return fmt::format("{}, in memory that the host may not touch", host_->description());
  }

 private:
  std::unique_ptr<Backend> host_;
  mutable FarDevice device_;
};

}  // namespace

std::unique_ptr<Backend> make_far_backend(std::unique_ptr<Backend> host) {
  return std::make_unique<FarBackend>(std::move(host));
}

}  // namespace hone
