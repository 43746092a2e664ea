#include "operate/serve/loader.h"

#include <new>

#include "base/core/log_thrown.h"
#include "operate/serve/engine.h"
#include "operate/serve/errors.h"

namespace hone {

Status Loader::add(Load load, OnDone done) {
  std::lock_guard lock(mutex_);
  if (stopped_) return server_ends();
  if (waiting_.size() >= kMostWaiting)
    return Error(err::kServeBusy, fmt::format("{} loads of models wait already", waiting_.size()))
        .todo("send the request again later");
  waiting_.push_back({std::move(load), std::move(done)});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();
  return Ok{};
}

void Loader::stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;  // no thread starts from now on
  }
  wake_.notify_one();
  std::call_once(joined_, [this] {
    if (thread_.joinable()) thread_.join();
  });
}

Status Loader::loaded(const Job& job) {
  try {
    return job.load();
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

void Loader::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    const bool ends = stopped_;
    lock.unlock();
    // A reply without an answer sends status 500.
    log_if_thrown("a load of a model",
                  [&] { job.done(ends ? Status(server_ends()) : loaded(job)); });
    job = {};
    lock.lock();
  }
}

}  // namespace hone
