#include "operate/reporters/ticker.h"

#include <chrono>

#include "base/core/log_thrown.h"

namespace hone {

Ticker::Ticker(double seconds, std::function<void()> tick) {
  thread_ =
      std::thread([this, pause = std::chrono::duration<double>(seconds), tick = std::move(tick)] {
        std::unique_lock lock(mutex_);
        while (!changed_.wait_for(lock, pause, [this] { return stop_; })) {
          lock.unlock();
          log_if_thrown("a report", tick);
          lock.lock();
        }
      });
}

Ticker::~Ticker() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

}  // namespace hone
