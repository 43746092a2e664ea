// The DiskIo of a few threads, each with one request at a time.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/device/disk_io.h"

namespace hone {
namespace {

class ThreadsIo : public DiskIo {
 public:
  ThreadsIo() {
    for (std::thread& t : threads_) t = std::thread([this] { work_on(); });
  }
  ~ThreadsIo() override {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    given_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  ThreadsIo(const ThreadsIo&) = delete;

  void begin(size_t slot, const DiskRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      requests_[slot] = request;
      waiting_.push(slot);
    }
    given_.notify_one();
  }

  DiskResult finish_one() override {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return done_.count > 0; });
    const size_t slot = done_.pop();
    return {slot, results_[slot]};
  }

 private:
  struct Slots {  // first in, first out
    std::array<size_t, kSlots> of{};
    size_t first = 0, count = 0;
    void push(size_t slot) { of[(first + count++) % kSlots] = slot; }
    size_t pop() {
      const size_t slot = of[first];
      first = (first + 1) % kSlots;
      --count;
      return slot;
    }
  };

  void work_on() {
    std::unique_lock lock(mutex_);
    for (;;) {
      given_.wait(lock, [&] { return end_ || waiting_.count > 0; });
      if (end_) return;
      const size_t slot = waiting_.pop();
      const DiskRequest r = requests_[slot];
      lock.unlock();
      const auto bytes = static_cast<size_t>(r.bytes);
      const ssize_t done = r.writes ? pwrite(r.file, r.memory, bytes, r.offset)
                                    : pread(r.file, r.memory, bytes, r.offset);
      const int64_t result = done < 0 ? -errno : done;
      lock.lock();
      results_[slot] = result;
      done_.push(slot);
      finished_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable given_, finished_;
  std::array<DiskRequest, kSlots> requests_;
  std::array<int64_t, kSlots> results_{};
  Slots waiting_, done_;
  bool end_ = false;
  std::array<std::thread, 4> threads_;
};

}  // namespace

std::unique_ptr<DiskIo> make_threads_io() { return std::make_unique<ThreadsIo>(); }

}  // namespace hone
