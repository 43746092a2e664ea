// A queue of the device that is the host, with a thread of its own, which works while the caller continues.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/device/disk_stream.h"
#include "engine/device/host_queue.h"

namespace hone {

// Holds up to kRing pieces of unfinished work; if there are more, the caller waits until one is done. Giving work
// allocates nothing. Copies from and to disk run at the same time if they share no byte.
class LaneQueue : public HostQueue {
 public:
  LaneQueue(ThreadPool& pool, DiskBlocks& disk);
  ~LaneQueue() override;  // waits until all work is done
  void copy(std::span<const Copy> copies) override;
  void zero(void* to, int64_t bytes) override;
  void run(const std::function<void()>& work) override { give({.run = &work}); }
  uint64_t record() override;
  void wait(Queue& other, uint64_t mark) override;
  void finish() override { reach(record()); }
  bool has_reached(uint64_t mark) override;
  void reach(uint64_t mark) override;

 private:
  static constexpr uint64_t kRing = 256;
  struct Work {
    Copy copy = {};              // without `from`: fills `to` with zeros
    HostQueue* other = nullptr;  // if not null: no copy; waits until `other` reaches `mark`
    uint64_t mark = 0;
    const std::function<void()>* run = nullptr;  // if not null: no copy; calls it
  };
  void give(const Work& work);
  void work_on();
  void do_now(const Work& work);

  std::mutex mutex_;
  std::condition_variable given_more_, done_more_;
  std::array<Work, kRing> ring_;
  uint64_t given_ = 0, done_ = 0;
  uint64_t begun_ = 0;  // used by the thread only: work done_ to begun_ - 1 is in stream_
  DiskStream stream_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace hone
