// A queue of jobs: any thread adds jobs, and the thread of an engine takes them. The type Job has the members
// `deadline`, `follows` and `done`. If `follows` is true, another job of the same request came before this one. `done`
// is a function that accepts an Error.
#pragma once

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/core/log_thrown.h"
#include "learn/generate/errors.h"
#include "operate/serve/engine.h"

namespace hone {

template <class Job>
class JobQueue {
 public:
  struct Waiting {
    uint64_t ticket;
    Job job;
  };
  explicit JobQueue(int64_t most) : most_(most) {}  // limit for waiting jobs

  // --- functions for any thread ---

  // Queues a job and returns its ticket. The limit for waiting jobs applies only to the first job of a
  // request. Its later jobs (`follows`) are accepted at any number, so a request is never queued in
  // part. Errors: H3412 after stop(), H3414 too many jobs wait.
  Result<uint64_t> submit(Job job) {
    uint64_t ticket = 0;
    {
      std::lock_guard lock(mutex_);
      if (stopped_) return engine_ends();
      const auto waiting = static_cast<int64_t>(waiting_.size());
      if (!job.follows && waiting >= most_) return too_many_wait(waiting);
      ticket = next_++;
      waiting_.push_back({ticket, std::move(job)});
    }
    wake_.notify_one();
    return ticket;
  }
  // Removes a waiting job. The ticket of a job that no longer waits is kept for take_cancelled().
  void cancel(uint64_t ticket) {
    {
      std::lock_guard lock(mutex_);
      if (std::erase_if(waiting_, [&](const Waiting& w) { return w.ticket == ticket; }) > 0) return;
      cancelled_.push_back(ticket);
    }
    wake_.notify_one();
  }
  // Refuses further jobs, and makes wait() return false. Waiting jobs stay in the queue until end_all().
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
  }
  // The last load that the engine reported, with the current number of waiting jobs.
  EngineLoad load() const {
    std::lock_guard lock(mutex_);
    EngineLoad l = load_;
    l.waiting = static_cast<int64_t>(waiting_.size());
    return l;
  }

  // --- functions for the engine's thread ---

  // Waits until the queue has a job, cancel() has kept a ticket for take_cancelled(), or stop() was called. Does not
  // wait if `busy` is true. Returns false after stop(), else true.
  bool wait(bool busy) {
    std::unique_lock lock(mutex_);
    if (!busy)
      wake_.wait(lock, [&] { return stopped_ || !waiting_.empty() || !cancelled_.empty(); });
    return !stopped_;
  }
  // Returns and removes the tickets that cancel() has kept since the last call: cancelled jobs that no longer waited.
  std::vector<uint64_t> take_cancelled() {
    std::lock_guard lock(mutex_);
    return std::exchange(cancelled_, {});
  }
  // Takes jobs from the front of the queue, as long as `fits(job)` returns true.
  template <class Fits>
  std::vector<Waiting> take(Fits fits) {
    std::vector<Waiting> jobs;
    std::lock_guard lock(mutex_);
    while (!waiting_.empty() && fits(waiting_.front().job)) {
      jobs.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    return jobs;
  }
  // Removes the waiting jobs whose deadline is not after `now`, and ends them with H3411.
  void end_late(Deadline now) {
    std::vector<Waiting> late;
    {
      std::lock_guard lock(mutex_);
      std::erase_if(waiting_, [&](Waiting& w) {
        if (w.job.deadline > now) return false;
        late.push_back(std::move(w));
        return true;
      });
    }
    for (Waiting& w : late) w.job.done(time_is_up());
  }
  // Ends all waiting jobs with H3412.
  void end_all() {
    for (Waiting& w : take([](const Job&) { return true; })) w.job.done(engine_ends());
  }
  // Stores the engine's load; load() returns it.
  void tell(const EngineLoad& load) {
    std::lock_guard lock(mutex_);
    load_ = load;
  }

 private:
  const int64_t most_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;
  std::vector<uint64_t> cancelled_;
  uint64_t next_ = 1;
  bool stopped_ = false;
  EngineLoad load_;
};

// An engine whose jobs wait in a JobQueue.
template <class Job>
class QueuedEngine : public Engine {
 public:
  void cancel(uint64_t ticket) override { queue_.cancel(ticket); }
  void stop() override { queue_.stop(); }
  EngineLoad load() const override { return queue_.load(); }

 protected:
  explicit QueuedEngine(const EngineOptions& options)
      : clock_(*options.clock), statistics_(options.statistics), queue_(options.most_waiting) {}
  void count(const ModelStatistics::Execution& e) {
    if (statistics_ != nullptr) statistics_->add(e);
  }
  Clock& clock_;
  ModelStatistics* statistics_;
  JobQueue<Job> queue_;
};

// A QueuedEngine that computes several jobs in one run of the model. The result of each job is a list of numbers.
template <class Job>
class BatchEngine : public QueuedEngine<Job> {
 protected:
  using QueuedEngine<Job>::QueuedEngine;
  // Calls `done` of a job with its numbers `own`, or with H2505 if a number is not finite. The text of the error names
  // the job's `input`: "text" or "image".
  static void answer(typename JobQueue<Job>::Waiting& w, std::span<const float> own,
                     const char* input) {
    const auto done = std::exchange(w.job.done, {});
    if (std::all_of(own.begin(), own.end(), [](float x) { return std::isfinite(x); }))
      return done(std::vector<float>(own.begin(), own.end()));
    done(Error(err::kLogitsNotFinite, fmt::format("the outputs for the {} are not finite", input))
             .todo("the activations overflow, as after a training that diverged: take an "
                   "earlier checkpoint"));
  }
  // Repeats until stop(): takes jobs with take(), and passes them to compute(). Jobs that compute() works on cannot be
  // cancelled.
  template <class Take, class Compute>
  void compute_until_stop(const Take& take, const Compute& compute) {
    while (this->queue_.wait(false)) log_if_thrown("a batch", [&] { compute_once(take, compute); });
    this->queue_.end_all();
  }

 private:
  template <class Take, class Compute>
  void compute_once(const Take& take, const Compute& compute) {
    (void)this->queue_.take_cancelled();
    this->queue_.end_late(this->clock_.seconds());
    std::vector<typename JobQueue<Job>::Waiting> jobs = take();
    if (jobs.empty()) return;
    for (const auto& w : jobs)
      if (w.job.begins) w.job.begins();
    load_.running = load_.used_rows = std::ssize(jobs);
    this->queue_.tell(load_);
    const double start = this->clock_.seconds();
    try {
      compute(jobs);
    } catch (const std::bad_alloc&) {
      for (auto& w : jobs)
        if (w.job.done) log_if_thrown("a refusal", [&] { w.job.done(no_memory()); });
    }
    load_.seconds += this->clock_.seconds() - start;
    load_.requests += std::ssize(jobs);
    load_.running = load_.used_rows = 0;
    this->queue_.tell(load_);
  }

 protected:
  EngineLoad load_;  // used by the engine's thread alone, which reports it to the queue
};

}  // namespace hone
