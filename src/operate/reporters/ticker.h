// Something that is done again and again while training continues.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hone {

class Ticker {
 public:
  // Calls `tick` by a thread of its own, `seconds` after the end of the call before.
  Ticker(double seconds, std::function<void()> tick);
  ~Ticker();  // waits for the call that is under way
  Ticker(const Ticker&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hone
