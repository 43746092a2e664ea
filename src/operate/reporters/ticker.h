// Calls a function repeatedly while training continues.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hone {

class Ticker {
 public:
  // Calls `tick` on a thread of its own: first after `seconds`, then `seconds` after the end of each call.
  Ticker(double seconds, std::function<void()> tick);
  ~Ticker();  // waits for the running call
  Ticker(const Ticker&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hone
