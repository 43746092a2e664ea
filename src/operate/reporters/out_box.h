// Sends jobs to a server while training continues: one after another, on a thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/core/error.h"

namespace hone {

// A failed job is dropped: the log reports the first, and the number at the end. If jobs come
// faster than the server takes them, the oldest are dropped.
class OutBox {
 public:
  using Job = std::function<Status()>;
  explicit OutBox(std::string name, size_t most_jobs = 1000);
  ~OutBox();  // waits for the running job, not for others
  OutBox(const OutBox&) = delete;

  void send(Job job);
  // Waits until everything is sent, at most `seconds`.
  void finish(double seconds);

 private:
  void work();
  std::string name_;  // of the receiver, for the log
  size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool busy_ = false, stop_ = false;
  int64_t lost_ = 0;
  std::thread thread_;
};

}  // namespace hone
