// A queue of a device that is the host: it works on addresses of the host, or on disk.
#pragma once

#include "engine/device/device.h"
#include "engine/device/disk_blocks.h"

namespace hone {

// Runs at once: its work is done when the call returns.
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

  virtual bool has_reached(uint64_t) { return true; }
  virtual void reach(uint64_t) {}  // returns when everything before the mark is done

 protected:
  DiskBlocks& disk() { return disk_; }

 private:
  ThreadPool& pool_;
  DiskBlocks& disk_;
};

}  // namespace hone
