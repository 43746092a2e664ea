// Runs jobs that send data to a server while training continues: one after another, on a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/core/error.h"

namespace hone {

// A failed job is not retried. At most `most_jobs` jobs wait: a further job replaces the oldest waiting job, which is
// dropped. The first failure logs a warning; finish() logs the number of failed and dropped jobs.
class OutBox {
 public:
  using Job = std::function<Status()>;
  // `name` is the server's name for the log.
  explicit OutBox(std::string name, size_t most_jobs = 1000);
  ~OutBox();  // waits for the running job, and drops the waiting ones
  OutBox(const OutBox&) = delete;

  void send(Job job);  // queues a job
  // Waits until all jobs are done, but at most `seconds`. Then drops the remaining jobs, and logs the number of failed
  // and dropped jobs if it is not 0.
  void finish(double seconds);

 private:
  void work();
  std::string name_;
  size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool busy_ = false, stop_ = false;
  int64_t lost_ = 0;
  std::thread thread_;
};

}  // namespace hone
