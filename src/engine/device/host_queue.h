// A queue of the device that is the host: works on addresses of the host and of blocks on disk.
#pragma once

#include "engine/device/device.h"
#include "engine/device/disk_blocks.h"

namespace hone {

// Does its work during the call; LaneQueue does it later, in a thread.
class HostQueue : public Queue {
 public:
  HostQueue(ThreadPool& pool, DiskBlocks& disk) : pool_(pool), disk_(disk) {}
  ThreadPool& pool() { return pool_; }
  void copy(std::span<const Copy> copies) override;
  void zero(void* to, int64_t bytes) override { disk_.zero(to, bytes); }
  void run(const std::function<void()>& work) override { work(); }
  uint64_t record() override { return 0; }
  void wait(Queue& other, uint64_t mark) override;
  void finish() override {}

  virtual bool has_reached(uint64_t) { return true; }  // whether the work before the mark is done
  virtual void reach(uint64_t) {}  // waits until the work before the mark is done

 protected:
  DiskBlocks& disk() { return disk_; }

 private:
  ThreadPool& pool_;
  DiskBlocks& disk_;
};

}  // namespace hone
