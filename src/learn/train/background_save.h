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
  // Writes the checkpoint. It must call `all_read` when it no longer needs the states of the session.
  using Job = std::function<Status(const std::function<void()>& all_read)>;
  // Starts the job on a new thread.
  explicit BackgroundSave(Job job);
  ~BackgroundSave();  // waits for the end of the job
  BackgroundSave(const BackgroundSave&) = delete;

  // Waits until the job has called `all_read` or has ended. Steps may change the states afterwards.
  void wait_until_read();
  bool ended();  // the job has ended
  // Waits for the end of the job. Returns its result, or throws the exception that it threw. Call it at most once.
  Status wait();

  double waited_seconds() const { return waited_; }  // total time in wait_until_read()

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool read_ = false, ended_ = false;
  std::optional<Status> result_;
  std::exception_ptr mistake_;  // the exception that the job threw; null: none
  double waited_ = 0;
  std::thread thread_;
};

}  // namespace hone
