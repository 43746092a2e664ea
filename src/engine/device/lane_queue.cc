#include "engine/device/lane_queue.h"

namespace hone {

LaneQueue::LaneQueue(ThreadPool& pool, DiskBlocks& disk)
    : HostQueue(pool, disk), stream_(disk), thread_([this] { work_on(); }) {}

LaneQueue::~LaneQueue() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  given_more_.notify_one();
  thread_.join();
}

void LaneQueue::give(const Work& work) {
  {
    std::unique_lock lock(mutex_);
    done_more_.wait(lock, [&] { return given_ - done_ < kRing; });
    ring_[given_++ % kRing] = work;
  }
  given_more_.notify_one();
}

void LaneQueue::copy(std::span<const Copy> copies) {
  for (const Copy& c : copies) give({.copy = c});
}

void LaneQueue::zero(void* to, int64_t bytes) { give({.copy = {to, nullptr, bytes}}); }

uint64_t LaneQueue::record() {
  const std::lock_guard lock(mutex_);
  return given_;
}

void LaneQueue::wait(Queue& other, uint64_t mark) {
  auto& queue = static_cast<HostQueue&>(other);
  if (&other != this && !queue.has_reached(mark)) give({.other = &queue, .mark = mark});
}

bool LaneQueue::has_reached(uint64_t mark) {
  const std::lock_guard lock(mutex_);
  return done_ >= mark;
}

void LaneQueue::reach(uint64_t mark) {
  std::unique_lock lock(mutex_);
  done_more_.wait(lock, [&] { return done_ >= mark; });
}

void LaneQueue::do_now(const Work& work) {
  if (work.run)
    (*work.run)();
  else if (work.other)
    work.other->reach(work.mark);
  else if (work.copy.from)
    disk().copy(work.copy);
  else
    disk().zero(work.copy.to, work.copy.bytes);
}

void LaneQueue::work_on() {
  std::unique_lock lock(mutex_);
  for (;;) {
    given_more_.wait(lock, [&] { return end_ || given_ > done_; });
    if (given_ == done_) return;
    const bool more = given_ > begun_;
    const Work work = more ? ring_[begun_ % kRing] : Work{};
    lock.unlock();
    uint64_t done = 0;
    if (more && !work.other && !work.run && stream_.takes(work.copy)) {
      stream_.begin(work.copy);
      ++begun_;
    } else if (!stream_.empty()) {
      done = stream_.finish_some();
    } else {
      do_now(work);
      ++begun_;
      done = 1;
    }
    lock.lock();
    if (done == 0) continue;
    done_ += done;
    done_more_.notify_all();
  }
}

}  // namespace hone
