// A model that generates texts, on a thread of its own: it decodes requests of all threads
// together.
#pragma once

#include <thread>
#include <unordered_map>

#include "learn/generate/generate.h"
#include "operate/serve/job_queue.h"

namespace hone {

class TextEngine {
 public:
  struct Job {
    Prompt prompt;
    std::shared_ptr<const GenerationConfig> config;
    Deadline deadline = kNoDeadline;
    // Called on the engine's thread: tokens as they come (not for beams), and once the end: the
    // result, or an Error after the deadline (H3411) or after stop() (H3412).
    std::function<void(size_t sequence, int32_t token)> token = {};
    std::function<void(Result<std::vector<Generated>>)> done;
  };

  // Allocates all memory. `model` must outlive the engine.
  static Result<std::unique_ptr<TextEngine>> make(const Pretrained& model,
                                                  const CacheLimits& limits, const Backend& backend,
                                                  const EngineOptions& options);
  ~TextEngine();

  // H3413 if the request could never run.
  Status check(const Prompt& prompt, const GenerationConfig& config) const;
  // Queues a job and returns its ticket. H3412 after stop(), H3414: too many wait.
  Result<uint64_t> submit(Job job) { return queue_.submit(std::move(job)); }
  // Cancels a job; its callbacks are not called. Does nothing if it is done.
  void cancel(uint64_t ticket) { queue_.cancel(ticket); }
  // Ends every job with H3412, now and from now on.
  void stop() { queue_.stop(); }
  // Stops, and waits for the engine's thread: no job is called later. May be called repeatedly, on
  // any thread but the engine's.
  void join();
  EngineLoad load() const { return queue_.load(); }

 private:
  explicit TextEngine(const EngineOptions& options) : queue_(options.most_waiting) {}
  void run();
  void begin_waiting();
  void end_late();
  void tell_load();

  CacheLimits limits_;
  std::optional<Session> session_;
  std::unique_ptr<CachedModel> cached_;
  std::unique_ptr<Batcher> batcher_;

  struct Running {
    Batcher::Ticket ticket;
    Deadline deadline;
    std::function<void(Result<std::vector<Generated>>)> done;
  };
  JobQueue<Job> queue_;
  // Members of the engine's thread.
  int64_t requests_ = 0;
  std::unordered_map<uint64_t, Running> running_;
  std::thread thread_;
  std::once_flag joined_;
};

}  // namespace hone
