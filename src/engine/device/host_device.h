// A device that is the host: its memory is the host's, its kernels run on its threads.
#pragma once

#include <array>

#include "engine/device/backend.h"
#include "engine/device/disk_blocks.h"

namespace hone {

// Runs at once: what it is given is done when the call returns.
class HostQueue : public Queue {
 public:
  HostQueue(ThreadPool& pool, DiskBlocks& disk) : pool_(pool), disk_(disk) {}
  ThreadPool& pool() { return pool_; }
  void copy(std::span<const Copy> copies) override;
  void zero(void* to, int64_t bytes) override { disk_.zero(to, bytes); }
  uint64_t record() override { return 0; }
  void wait(Queue& other, uint64_t mark) override;
  void finish() override {}

  virtual bool has_reached(uint64_t) { return true; }
  virtual void reach(uint64_t) {}  // returns when all before the mark is done

 protected:
  DiskBlocks& disk() { return disk_; }

 private:
  ThreadPool& pool_;
  DiskBlocks& disk_;
};

class HostDevice : public Device {
 public:
  // The pool has spec.threads threads.
  explicit HostDevice(DeviceSpec spec);
  ~HostDevice() override;
  const DeviceSpec& spec() const override { return spec_; }
  Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes,
                                           const std::string& folder = "") override;
  // Compute runs at once; each other lane has a thread, made when the lane is first asked for.
  Queue& queue(Lane lane) override;
  ThreadPool& pool() override { return pool_; }
  bool host_memory() const override { return true; }
  Status check() const override { return disk_.check(); }

 private:
  DeviceSpec spec_;
  ThreadPool pool_;
  DiskBlocks disk_;
  HostQueue queue_;
  std::array<std::unique_ptr<HostQueue>, kLaneCount> lanes_;  // but compute
};

// The pool of the HostQueue that a kernel runs on.
inline ThreadPool& pool_of(const KernelArgs& a) { return static_cast<HostQueue&>(a.queue).pool(); }

// A spec of this machine, without its speed. threads: 0 for all that this process may use.
DeviceSpec host_spec(std::string name, int threads);

}  // namespace hone
