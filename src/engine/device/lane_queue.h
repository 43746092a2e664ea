// A queue whose work is done by a thread of its own, beside that of the thread that gives it.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/device/host_queue.h"

namespace hone {

// Holds up to kRing pieces of work that are not done; who gives one more waits for room. Giving
// work allocates nothing.
class LaneQueue : public HostQueue {
 public:
  LaneQueue(ThreadPool& pool, DiskBlocks& disk);
  ~LaneQueue() override;  // when all is done
  void copy(std::span<const Copy> copies) override;
  void zero(void* to, int64_t bytes) override;
  uint64_t record() override;
  void wait(Queue& other, uint64_t mark) override;
  void finish() override { reach(record()); }
  bool has_reached(uint64_t mark) override;
  void reach(uint64_t mark) override;

 private:
  static constexpr uint64_t kRing = 256;
  struct Work {
    Copy copy;                   // without `from`: zeros
    HostQueue* other = nullptr;  // instead: this one has to reach the mark
    uint64_t mark = 0;
  };
  void give(const Work& work);
  void work_on();

  std::mutex mutex_;
  std::condition_variable given_more_, done_more_;
  std::array<Work, kRing> ring_;
  uint64_t given_ = 0, done_ = 0;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace hone
