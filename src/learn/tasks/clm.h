// Causal language modelling: joins text, tokenizer, model, loss and metrics.
#pragma once

#include <memory>

#include "base/core/threads.h"
#include "engine/device/backend.h"
#include "learn/data/batch.h"
#include "learn/data/causal_data.h"
#include "learn/data/order.h"
#include "learn/data/token_stream.h"
#include "learn/tasks/clm_data.h"
#include "learn/tasks/clm_programs.h"
#include "learn/train/trainer.h"

namespace hone {

struct ClmSettings : TrainSettings, ClmDataSettings {
  void bind(Schema& schema) {
    TrainSettings::bind(schema);
    ClmDataSettings::bind(schema);
  }
};

// clm_data.h's, as the settings of a run wish.
inline Result<CausalFiles> causal_files(const ClmSettings& s, const Pretrained& model,
                                        int64_t block, std::vector<std::string>& notes) {
  return causal_files(s, model, block, {s.do_train, s.do_eval, s.cache_dir, s.token}, notes);
}

// The programs of a run and their micro-batches.
struct ClmShapes {
  BatchGrid train, eval;    // empty budgets: not trained, not evaluated
  bool accumulate = false;  // more than one micro-batch in an optimizer step
};
// Bytes that --streaming holds of blocks of `block` tokens; 0 without it.
int64_t stream_bytes(const ClmSettings& s, int64_t block);

// What a run needs when its data are not read yet: `rows` blocks in a micro-batch; with --packing,
// where the lengths are not known, the most that it can need.
ClmShapes block_shapes(const ClmSettings& s, int64_t block, int64_t rows, bool train, bool eval);

// Every program of the run after its passes: train.<T>, train_add.<T>, update, eval.<T>.
Result<std::vector<Program>> clm_programs(const ClmSettings& s, const ModelConfig& config,
                                          const ClmShapes& shapes);

// The micro-batch that fits: the largest divisor of per_device_train_batch_size (evaluation alone:
// of per_device_eval_batch_size) whose arena is at most `memory_bytes`.
struct Fit {
  int64_t rows = 0;     // of a micro-batch; 0: not even one row fits
  int64_t largest = 0;  // the most rows that would fit (0 when none does)
  RunPlan plan;         // with `rows`, or with one row when none fits
};
using ShapesOf = std::function<ClmShapes(int64_t rows)>;
Result<Fit> fit_clm(const ClmSettings& s, const ModelConfig& config, const Backend& backend,
                    ThreadPool& pool, int64_t wanted_rows, int64_t memory_bytes,
                    const ShapesOf& shapes_of);

// Bytes that the arenas of this process may take: --device_memory, or what is free now.
int64_t memory_for_arenas(const TrainSettings& s);

// Bytes of the runtime besides the arena (code, tokenizer, data): the plan's own line.
inline constexpr int64_t kRuntimeBudget = 192 << 20;

// Planned and measured memory of a run. Measured: what the process keeps in anonymous and shared
// pages now, less what it kept just before the arena was mapped.
struct MemoryReport {
  int64_t planned_bytes = 0;
  int64_t measured_bytes = 0;
  int64_t runtime_bytes = 0;  // what it kept before: tokenizer, data, plans
  std::string text() const;
};

class ClmTask : public TrainTask {
 public:
  // Reads data, chooses the micro-batch, compiles, takes the memory, loads the weights. Prints the
  // first screen on the way. Errors name file, flag or tensor.
  static Result<std::unique_ptr<ClmTask>> make(const ClmSettings& s, Pretrained model,
                                               bool from_scratch);

  Session& session() override { return *session_; }
  const StepCount& steps() const override { return *steps_; }
  int64_t train_rows() const override { return train_rows_; }
  Result<StepSums> gradients(int64_t step) override;
  bool can_evaluate() const override { return eval_ || eval_stream_; }
  Result<OrderedJson> evaluate() override;
  Status save_model_files(const std::string& folder) override;
  std::vector<std::string> weight_names() const override;
  double flops_of_step(const StepSums& sums) const override;
  Json fingerprint() const override;
  Json data_place() const override;
  Status go_to(const Json& place, const std::string& name) override;
  const Pretrained& model() const { return model_; }
  MemoryReport memory() const;

 private:
  explicit ClmTask(const ClmSettings& s) : s_(s) {}
  Status read_data();
  Status open_streams(const CausalFiles& files);
  Status plan_steps(int64_t rows);
  Result<TokenRows*> rows_of_step(int64_t step);
  Status check_ids(std::span<const int32_t> ids) const;
  Status compile(bool from_scratch);
  ClmShapes shapes_for(int64_t rows) const;
  void put_inputs(size_t program, const MicroBatch& batch);
  void find_programs();

  const ClmSettings& s_;
  Pretrained model_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<TokenRows> train_, eval_;
  // With --streaming, instead of train_ and eval_.
  std::unique_ptr<TokenStream> train_stream_, eval_stream_;
  TokenRows stream_rows_;
  std::vector<int64_t> numbers_;  // of stream_rows_, in the epoch
  std::optional<StreamPlace> step_begin_;
  int64_t stream_step_ = -1;  // the step that rows were read for last
  bool step_given_up_ = false;
  int64_t train_rows_ = 0;
  std::optional<StepCount> steps_;
  std::optional<RowOrder> order_;
  std::optional<Session> session_;
  ClmShapes shapes_;
  int64_t block_ = 0;
  uint64_t data_hash_ = 0;
  int64_t parameters_outside_embeddings_ = 0;
  // By budget of the grid: indices of the session's programs.
  std::vector<size_t> train_programs_, train_add_programs_, eval_programs_;
  int64_t bytes_before_arena_ = 0;
  // Used again by every step, so that no step allocates.
  MicroBatch batch_;
  StepPlan plan_;
  std::vector<int64_t> rows_, lengths_;
};

}  // namespace hone
