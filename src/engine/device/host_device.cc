#include "engine/device/host_device.h"

#include <cstring>
#include <new>

#include "base/core/memory.h"
#include "engine/device/arena.h"
#include "engine/device/lane_queue.h"
#include "engine/plan/plan.h"

namespace hone {
namespace {

class ArenaMemory : public Memory {
 public:
  explicit ArenaMemory(Arena arena) : arena_(std::move(arena)) {
    data_ = arena_.data();
    bytes_ = arena_.bytes();
  }
  int64_t resident_bytes() const override { return hone::resident_bytes(data_, bytes_); }

 private:
  Arena arena_;
};

// Too small for pages of its own.
class SmallMemory : public Memory {
 public:
  explicit SmallMemory(int64_t bytes)
      : owned_(static_cast<std::byte*>(::operator new[](static_cast<size_t>(bytes), kAlign))) {
    std::memset(owned_, 0, static_cast<size_t>(bytes));
    data_ = owned_;
    bytes_ = bytes;
  }
  ~SmallMemory() override { ::operator delete[](owned_, kAlign); }
  SmallMemory(const SmallMemory&) = delete;
  int64_t resident_bytes() const override { return hone::resident_bytes(data_, bytes_); }

 private:
  static constexpr std::align_val_t kAlign{static_cast<size_t>(kBufferAlignment)};
  std::byte* owned_;
};

}  // namespace

HostDevice::HostDevice(DeviceSpec spec, const DiskOptions& disk)
    : spec_(std::move(spec)), pool_(spec_.threads), disk_(disk), queue_(pool_, disk_) {}
HostDevice::~HostDevice() = default;

Result<std::unique_ptr<Memory>> HostDevice::allocate(Space space, int64_t bytes,
                                                     const std::string& folder) {
  if (space == Space::disk) return disk_.allocate(bytes, folder);
  if (bytes < kArenaAlignment)
    return std::unique_ptr<Memory>(std::make_unique<SmallMemory>(std::max<int64_t>(bytes, 1)));
  return std::unique_ptr<Memory>(std::make_unique<ArenaMemory>(HONE_TRY(Arena::allocate(bytes))));
}

Status HostDevice::check() const {
  HONE_TRY(disk_.check());
  return check_group();
}

Queue& HostDevice::queue(Lane lane) {
  if (lane == Lane::compute || lane == Lane::host_compute) return queue_;
  std::unique_ptr<HostQueue>& queue = lanes_[static_cast<size_t>(lane)];
  if (!queue) queue = std::make_unique<LaneQueue>(pool_, disk_);
  return *queue;
}

DeviceSpec host_spec(std::string name, int threads) {
  DeviceSpec s;
  s.name = s.kernels = std::move(name);
  s.memory_bytes = read_memory().total_bytes;
  s.threads = threads > 0 ? threads : ThreadPool::default_size();
  return s;
}

}  // namespace hone
