// What is to be sent to a server while training continues: jobs, one after the other, by a thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/core/error.h"

namespace hone {

// A job that fails is given up: the log says so once, and how often at the end. When jobs come faster
// than the server takes them, those that wait longest are given up.
class OutBox {
 public:
  using Job = std::function<Status()>;
  explicit OutBox(std::string name, size_t most_jobs = 1000);
  ~OutBox();  // waits for the job that is under way, not for others
  OutBox(const OutBox&) = delete;

  void send(Job job);
  // Waits until all is sent, at most so long.
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
