// The engine of models without a KV cache: text classifiers, token classifiers, masked language models, embedding
// models and models that find answers in a context. It is a thread that packs several waiting texts into one run of the
// model.
#pragma once

#include <functional>

#include "engine/passes/store_weights.h"
#include "engine/session/session.h"
#include "learn/harness/port_batch.h"
#include "learn/pretrained/pretrained.h"
#include "operate/serve/job_queue.h"

namespace hone {

struct RowLimits {
  int64_t rows = 32;     // limit for the texts in one run; also for the masked tokens in one run
  int64_t tokens = 512;  // limit for the tokens of all texts in one run, so also of one text
  WeightStorage weights = WeightStorage::f32;
};

struct RowJob {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;  // token type of each id; empty: all 0
  // Masked language models: indices into `ids` of the tokens to predict.
  std::vector<int32_t> places;
  Deadline deadline = kNoDeadline;
  // True: another job of the same request came before this one. The limit for waiting jobs then does not apply.
  bool follows = false;
  // Called once, on the engine's thread, when the engine takes the job from the queue to compute it. Not called if the
  // job is cancelled or ends with an error while it waits. Null: not called.
  std::function<void()> begins = {};
  // Called once, on the engine's thread, with f32 values. Not called if the job is cancelled while it waits. Values:
  //   text classifier                       logits [labels]
  //   token classifier                      logits [ids, labels]
  //   model for answers from a context      logits [ids, 2]: start logit and end logit of each token
  //   masked language model                 logits [places, vocabulary]
  //   embedding model                       the embedding [E]
  // Errors: H2505 the values are not finite; H3411 the deadline passed while the job waited; H3412 the engine was
  // stopped while the job waited; H3419 no memory.
  std::function<void(Result<std::vector<float>>)> done;
};

class RowEngine : public BatchEngine<RowJob> {
 public:
  // Compiles programs for runs with 16, 32, 64 ... tokens, and loads the weights. Errors: those of the model and of the
  // device.
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
