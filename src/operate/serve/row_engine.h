// The engine of models without a KV cache: classifiers of texts and tokens, masked language models, embedding models
// and models that find answers in a context. Packs waiting texts into one run of the model, on a thread of its own.
#pragma once

#include <functional>

#include "engine/passes/store_weights.h"
#include "engine/session/session.h"
#include "learn/harness/port_batch.h"
#include "learn/pretrained/pretrained.h"
#include "operate/serve/job_queue.h"

namespace hone {

struct RowLimits {
  int64_t rows = 32;     // texts in one run
  int64_t tokens = 512;  // tokens of all texts in one run; so a text has at most this number too
  WeightStorage weights = WeightStorage::f32;
};

struct RowJob {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;  // token type of each id; empty: all 0
  // Masked language models: indices into `ids` of the tokens to predict.
  std::vector<int32_t> places;
  Deadline deadline = kNoDeadline;
  // Not the first job of its request: the limit for waiting jobs does not apply.
  bool follows = false;
  // Called on the engine's thread when the job no longer waits. Null: not called.
  std::function<void()> begins = {};
  // Called once, on the engine's thread, with f32 values: logits [labels] of a classifier of texts, [ids, labels] of a
  // classifier of tokens, [ids, 2] (begin and end) of a model for answers, [places, vocabulary] of a masked language
  // model; an embedding [E]. Errors: H2505 they are not finite; H3411 the deadline has passed; H3412 the engine was
  // stopped; H3419 no memory.
  std::function<void(Result<std::vector<float>>)> done;
};

class RowEngine : public BatchEngine<RowJob> {
 public:
  // Compiles programs for 16, 32, 64 ... tokens, and loads the weights. Errors: those of the model and of the device.
  static Result<std::unique_ptr<RowEngine>> make(const Pretrained& model, const RowLimits& limits,
                                                 const Backend& backend,
                                                 const EngineOptions& options);
  ~RowEngine() override { join(); }

  // Queues a job and returns its ticket for cancel(). Errors: H2504 there are no tokens; H2503 more tokens than
  // RowLimits::tokens; H3413 more places than RowLimits::rows; H3412 the engine was stopped; H3414 too many jobs wait;
  // those of check_ids (learn/harness/collate.h) for an id outside the vocabulary.
  Result<uint64_t> submit(RowJob job);

 private:
  struct Bound {
    size_t program;
    int64_t tokens;
    Batch inputs, outputs;
  };
  using Waiting = JobQueue<RowJob>::Waiting;
  explicit RowEngine(const EngineOptions& options) : BatchEngine(options) {}
  void run() override;
  std::vector<Waiting> take();  // the first jobs of the queue, as many as fit into one run
  void compute(std::vector<Waiting>& jobs);
  const Bound& bound_for(std::span<const Waiting> jobs) const;
  void fill(const Bound& b, std::span<const Waiting> jobs);
  void answer(const Bound& b, std::span<Waiting> jobs);

  RowLimits limits_;
  ModelConfig config_;
  std::optional<Session> session_;
  std::vector<Bound> bound_;  // by rising tokens
};

}  // namespace hone
