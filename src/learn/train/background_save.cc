#include "learn/train/background_save.h"

#include "base/core/clock.h"

namespace hone {

BackgroundSave::BackgroundSave(Job job) {
  thread_ = std::thread([this, job = std::move(job)] {
    const auto all_read = [this] {
      std::lock_guard lock(mutex_);
      read_ = true;
      changed_.notify_all();
    };
    std::optional<Status> result;
    std::exception_ptr mistake;
    try {
      result = job(all_read);
    } catch (...) {
      mistake = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    result_ = std::move(result);
    mistake_ = mistake;
    ended_ = true;
    changed_.notify_all();
  });
}

BackgroundSave::~BackgroundSave() {
  if (thread_.joinable()) thread_.join();
}

void BackgroundSave::wait_until_read() {
  const double begin = system_clock().seconds();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return read_ || ended_; });
  waited_ += system_clock().seconds() - begin;
}

bool BackgroundSave::ended() {
  std::lock_guard lock(mutex_);
  return ended_;
}

Status BackgroundSave::wait() {
  thread_.join();
  if (mistake_) std::rethrow_exception(mistake_);
  return std::move(*result_);
}

}  // namespace hone
