// A model without a cache: classifiers, of tokens too, masked language models and embeddings. Waiting texts are packed into
// one run, on a thread of its own.
#pragma once

#include <functional>

#include "engine/passes/store_weights.h"
#include "engine/session/session.h"
#include "learn/harness/port_batch.h"
#include "learn/pretrained/pretrained.h"
#include "operate/serve/job_queue.h"

namespace hone {

struct RowLimits {
  int64_t rows = 32;     // in one run
  int64_t tokens = 512;  // in one run, and so in one text
  WeightStorage weights = WeightStorage::f32;
};

struct RowJob {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;   // token types; empty: 0
  std::vector<int32_t> places;  // masked language models: the tokens whose logits are wanted
  Deadline deadline = kNoDeadline;
  bool follows = false;  // another job of its request
  // On the engine's thread: when the job no longer waits, and once f32[labels] of a classifier, [ids, labels] of one of
  // tokens, [places, V] of a masked language model, [E] of an embedding. Errors: H2505, H3411, H3412.
  std::function<void()> begins = {};
  std::function<void(Result<std::vector<float>>)> done;
};

class RowEngine : public BatchEngine<RowJob> {
 public:
  static Result<std::unique_ptr<RowEngine>> make(const Pretrained& model, const RowLimits& limits,
                                                 const Backend& backend,
                                                 const EngineOptions& options);
  ~RowEngine() override { join(); }

  // Errors: H2504 no tokens, H2503 too long, H3413 more places than rows, H3412 after stop(), H3414 too
  // many wait.
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
  std::vector<Waiting> take();  // the first that fit one run
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
