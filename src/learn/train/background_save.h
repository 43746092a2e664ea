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
  // A function that writes the checkpoint. It must call `all_read` as soon as it no longer reads the states of the
  // session.
  using Job = std::function<Status(const std::function<void()>& all_read)>;
  // Starts the job on a new thread, and returns at once.
  explicit BackgroundSave(Job job);
  ~BackgroundSave();  // waits for the end of the job
  BackgroundSave(const BackgroundSave&) = delete;

  // Waits until the job has called `all_read` or has ended. Call this before a step changes the states of the session.
  void wait_until_read();
  bool ended();  // true: the job has ended
  // Waits for the end of the job and returns its result. If the job threw an exception, throws it. Call this at most
  // once.
  Status wait();

  double waited_seconds() const { return waited_; }  // total time that wait_until_read() has waited

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
