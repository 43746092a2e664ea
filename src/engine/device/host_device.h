// The device that is the host itself: its memory is the host's, and its kernels run on the CPU's threads.
#pragma once

#include <array>

#include "engine/device/backend.h"
#include "engine/device/disk_blocks.h"
#include "engine/device/host_queue.h"

namespace hone {

class HostDevice : public Device {
 public:
  // The pool has spec.threads threads.
  explicit HostDevice(DeviceSpec spec, const DiskOptions& disk = {});
  ~HostDevice() override;
  const DeviceSpec& spec() const override { return spec_; }
  Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes,
                                           const std::string& folder = "") override;
  // The lanes compute and host_compute are one HostQueue, which runs work during the call. Each other lane has a
  // thread, which starts when the lane is first used.
  Queue& queue(Lane lane) override;
  ThreadPool& pool() override { return pool_; }
  bool host_memory() const override { return true; }
  Status check() const override;
  std::string disk_access() const override { return disk_.how(); }

 private:
  DeviceSpec spec_;
  ThreadPool pool_;
  DiskBlocks disk_;
  HostQueue queue_;
  std::array<std::unique_ptr<HostQueue>, kLaneCount> lanes_;  // lanes with threads; else null
};

// The threads for a kernel; its queue must be a HostQueue.
inline ThreadPool& pool_of(const KernelArgs& a) { return static_cast<HostQueue&>(a.queue).pool(); }

// The facts of this machine, without speeds. `name` is the device's and the backend's name. threads: the number of
// threads; 0: one for each processor that this process may use.
DeviceSpec host_spec(std::string name, int threads);

}  // namespace hone
