// Writes a checkpoint while training continues.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/core/error.h"

namespace hone {

class BackgroundSave {
 public:
  // The job calls `all_read` when it no longer needs states of the session.
  using Job = std::function<Status(const std::function<void()>& all_read)>;
  // Runs the job on a thread of its own.
  explicit BackgroundSave(Job job);
  ~BackgroundSave();  // waits
  BackgroundSave(const BackgroundSave&) = delete;

  void wait_until_read();  // or until the job has ended
  bool ended();
  Status wait();  // the job's result, or its exception; once

  double waited_seconds() const { return waited_; }  // in wait_until_read()

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool read_ = false, ended_ = false;
  std::optional<Status> result_;
  std::exception_ptr mistake_;  // a Bug of the job
  double waited_ = 0;
  std::thread thread_;
};

}  // namespace hone
