// A model that generates texts, on a thread of its own: it decodes requests of all threads
// together.
#pragma once

#include <unordered_map>

#include "learn/generate/generate.h"
#include "operate/serve/job_queue.h"

namespace hone {

struct TextJob {
  Prompt prompt;
  std::shared_ptr<const GenerationConfig> config;
  Deadline deadline = kNoDeadline;
  bool follows = false;  // another job of its request
  // On the engine's thread: when the job no longer waits, tokens as they come (not for beams), and once
  // the end, which is an Error where the time ran out (H3411) or the engine was stopped (H3412).
  std::function<void()> begins = {};
  std::function<void(size_t sequence, int32_t token, const TokenLogprobs* logprobs)> token = {};
  std::function<void(Result<std::vector<Generated>>)> done;
};

class TextEngine : public QueuedEngine<TextJob> {
 public:
  // Takes all memory. `model` must outlive the engine.
  static Result<std::unique_ptr<TextEngine>> make(const Pretrained& model,
                                                  const CacheLimits& limits, const Backend& backend,
                                                  const EngineOptions& options);
  ~TextEngine() override { join(); }

  // H3413 if the request could never run.
  Status check(const Prompt& prompt, const GenerationConfig& config) const;
  // The ticket of a job that waits. H3412 after stop(), H3414: too many wait.
  Result<uint64_t> submit(TextJob job) { return queue_.submit(std::move(job)); }

 private:
  explicit TextEngine(const EngineOptions& options) : QueuedEngine(options) {}
  void run() override;
  void begin_waiting();
  void step();
  void end_late();
  void tell_load();
  void end_running(const Error& why);

  CacheLimits limits_;
  std::optional<Session> session_;
  std::unique_ptr<CachedModel> cached_;
  std::unique_ptr<Batcher> batcher_;

  struct Running {
    Batcher::Ticket ticket;
    Deadline deadline;
    std::function<void(Result<std::vector<Generated>>)> done;
  };
  // Those of the engine's thread.
  int64_t requests_ = 0;
  std::unordered_map<uint64_t, Running> running_;
};

}  // namespace hone
