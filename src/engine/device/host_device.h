// A device that is the host: its memory is the host's, its kernels run on its threads.
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
  // Compute runs at once, and so do kernels of the host, because the device is the host; every
  // other lane, comm too, has a thread, started when the lane is first used.
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
  std::array<std::unique_ptr<HostQueue>, kLaneCount> lanes_;  // all but compute
};

// The pool of the HostQueue that a kernel runs on.
inline ThreadPool& pool_of(const KernelArgs& a) { return static_cast<HostQueue&>(a.queue).pool(); }

// A spec of this machine, without its speed. threads: 0 for all processors of this process.
DeviceSpec host_spec(std::string name, int threads);

}  // namespace hone
