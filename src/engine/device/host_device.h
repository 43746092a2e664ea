// A device that is the host: its memory is the host's, its kernels run on its threads.
#pragma once

#include <array>
#include <mutex>

#include "engine/device/backend.h"

namespace hone {

// Runs at once: what it is given is done when the call returns.
class HostQueue : public Queue {
 public:
  explicit HostQueue(ThreadPool& pool) : pool_(pool) {}
  ThreadPool& pool() { return pool_; }
  void copy(std::span<const Copy> copies) override;
  void zero(void* to, int64_t bytes) override;
  uint64_t record() override { return 0; }
  void wait(Queue& other, uint64_t mark) override;
  void finish() override {}

 private:
  ThreadPool& pool_;
};

class HostDevice : public Device {
 public:
  // The pool has spec.threads threads.
  explicit HostDevice(DeviceSpec spec);
  const DeviceSpec& spec() const override { return spec_; }
  Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes) override;
  Queue& queue(Lane lane) override;
  ThreadPool& pool() override { return pool_; }
  bool host_memory() const override { return true; }

 private:
  DeviceSpec spec_;
  ThreadPool pool_;
  HostQueue queue_;
};

// The pool of the HostQueue that a kernel runs on.
inline ThreadPool& pool_of(const KernelArgs& a) { return static_cast<HostQueue&>(a.queue).pool(); }

// A spec of this machine, without its speed. threads: 0 for all that this process may use.
DeviceSpec host_spec(std::string name, int threads);

}  // namespace hone
