// A queue with a thread of its own, which works beside the calling thread.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/device/disk_stream.h"
#include "engine/device/host_queue.h"

namespace hone {

// Holds up to kRing pieces of unfinished work; the caller waits for room beyond that. Giving work
// allocates nothing. Copies from and to disk that touch different bytes run at the same time.
class LaneQueue : public HostQueue {
 public:
  LaneQueue(ThreadPool& pool, DiskBlocks& disk);
  ~LaneQueue() override;  // waits for all work
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
    Copy copy = {};              // no `from`: zeros
    HostQueue* other = nullptr;  // instead: wait until this one reaches the mark
    uint64_t mark = 0;
    const std::function<void()>* run = nullptr;  // instead
  };
  void give(const Work& work);
  void work_on();
  void do_now(const Work& work);

  std::mutex mutex_;
  std::condition_variable given_more_, done_more_;
  std::array<Work, kRing> ring_;
  uint64_t given_ = 0, done_ = 0;
  uint64_t begun_ = 0;  // of the thread: from done_ on, work in its stream
  DiskStream stream_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace hone
