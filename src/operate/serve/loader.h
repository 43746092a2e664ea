// Loads models one after another on a thread of its own. Loading takes long, and the server must
// answer other requests during it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/core/error.h"

namespace hone {

class Loader {
 public:
  using Load = std::function<Status()>;
  using OnDone = std::function<void(Status)>;
  static constexpr size_t kMostWaiting = 16;

  ~Loader() { stop(); }
  // Queues a load. The loader's thread calls `load` once, and then calls `done` with the result of `load`, or with
  // H3419 if memory ran out. If stop() is called while the load waits, `load` is not called, and `done` gets H3412.
  // Errors: H3412 after stop(); H3414 kMostWaiting loads wait already.
  Status add(Load load, OnDone done);
  // Ends the waiting loads with H3412, and waits until the running load is done. Must not be called on the loader's
  // thread.
  void stop();

 private:
  struct Job {
    Load load;
    OnDone done;
  };
  void run();
  static Status loaded(const Job& job);  // the result of the load; H3419 if memory ran out

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> waiting_;
  bool stopped_ = false;
  std::thread thread_;  // started by the first load
  std::once_flag joined_;
};

}  // namespace hone
