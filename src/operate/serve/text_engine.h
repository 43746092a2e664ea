// The engine of models that generate texts: a thread that decodes the sequences of all requests together (continuous
// batching).
#pragma once

#include <unordered_map>

#include "learn/generate/generate.h"
#include "operate/serve/job_queue.h"

namespace hone {

struct TextJob {
  Prompt prompt;
  std::shared_ptr<const GenerationConfig> config;
  Deadline deadline = kNoDeadline;
  // True: another job of the same request came before this one. The limit for waiting jobs then does not apply.
  bool follows = false;
  // The functions below are called on the engine's thread.

  // Called once, when the engine takes the job from the queue to compute it. Not called if the job is cancelled or ends
  // with an error while it waits. Null: not called.
  std::function<void()> begins = {};
  // Called with each new token, except with beam search. `logprobs` is null if `config` does not ask for log
  // probabilities.
  std::function<void(size_t sequence, int32_t token, const TokenLogprobs* logprobs)> token = {};
  // Called once, with the generated sequences; not called if the job is cancelled. Errors: H3411 the deadline has
  // passed; H3412 the engine was stopped; H3419 no memory; those of the generation.
  std::function<void(Result<std::vector<Generated>>)> done;
};

class TextEngine : public QueuedEngine<TextJob> {
 public:
  // Compiles the programs, allocates all memory and loads the weights. `model` must outlive the engine. Errors: those
  // of the model and of the device.
  static Result<std::unique_ptr<TextEngine>> make(const Pretrained& model,
                                                  const CacheLimits& limits, const Backend& backend,
                                                  const EngineOptions& options);
  ~TextEngine() override { join(); }

  // Error H3413: the request needs more sequences or tokens than the engine holds, so it could never run.
  Status check(const Prompt& prompt, const GenerationConfig& config) const;
  // Queues a job and returns its ticket for cancel(). Errors: H3412 the engine was stopped; H3414 too many jobs wait.
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
  // Used on the engine's thread alone.
  int64_t requests_ = 0;
  std::unordered_map<uint64_t, Running> running_;
};

}  // namespace hone
