#include "operate/reporters/out_box.h"

#include <chrono>

#include "base/core/log.h"
#include "base/core/log_thrown.h"

namespace hone {

OutBox::OutBox(std::string name, size_t most_jobs) : name_(std::move(name)), most_(most_jobs) {
  thread_ = std::thread([this] { work(); });
}

OutBox::~OutBox() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void OutBox::send(Job job) {
  std::lock_guard lock(mutex_);
  if (jobs_.size() == most_) {
    jobs_.pop_front();
    ++lost_;
  }
  jobs_.push_back(std::move(job));
  changed_.notify_all();
}

void OutBox::finish(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                    [this] { return jobs_.empty() && !busy_; });
  const int64_t lost = lost_ + static_cast<int64_t>(jobs_.size());
  jobs_.clear();
  lost_ = 0;
  lock.unlock();
  if (lost > 0) log_warning("{} did not get {} message{}", name_, lost, lost == 1 ? "" : "s");
}

void OutBox::work() {
  bool told = false;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    bool sent = false;
    log_if_thrown(name_, [&] {
      const Status s = job();
      sent = s.ok();
      if (!sent && !std::exchange(told, true))
        log_warning("{} cannot be reached, training continues: {}", name_, s.error().text());
    });
    lock.lock();
    busy_ = false;
    if (!sent) ++lost_;
    changed_.notify_all();
  }
}

}  // namespace hone
