// Tasks that learn to write a target from a source with an encoder-decoder: what summarization and
// translation share (run_summarization, run_translation).
#pragma once

#include "learn/generate/generate.h"
#include "learn/tasks/sharded_rows.h"
#include "learn/tasks/token_task.h"
#include "learn/tokenizers/load/load.h"

namespace hone {

class SentenceSplitter;

struct Seq2SeqOwnSettings {
#define HONE_SETTINGS "learn/tasks/seq2seq_settings.def"
#include "base/settings/fields.inc"
};

// The programs' inputs and outputs are those of seq2seq_programs.h.
class Seq2SeqSettings : public TaskSettings, public Seq2SeqOwnSettings, public ShardedRows {
 public:
  using TaskSettings::bind;
  void bind_own(Schema& schema) override { Seq2SeqOwnSettings::bind(schema); }
  Status choose_head(ModelConfig& config) const override;
  int64_t row_tokens(const ModelConfig& config) const override;
  std::string row_tokens_flag() const override { return "max_source_length"; }
  int64_t row_tokens_given() const override { return max_source_length; }
  int64_t target_tokens(const ModelConfig& config) const override;
  std::optional<CacheLimits> generation_limits(const PairNeeds& needs, int64_t source_tokens,
                                               int64_t rows) const override;
  bool rows_apart() const override { return true; }
  Program build(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                bool train) const override;
  Result<std::unique_ptr<TokenTask>> open(Pretrained model, bool from_scratch) const override;

  ShardedRows* sharded_rows() override { return this; }
  void choose_splits() override { want_named_splits(*this, test_file); }
  Result<LabelSources> sources() const override;
  Result<OrderedJson> shard_settings(const Pretrained& model) const override;
  Result<std::vector<RowSplit>> row_splits(const Pretrained& model, const LabelSources& sources,
                                           ThreadPool& pool,
                                           std::vector<std::string>& notes) const override;

  int64_t target_length(bool training) const {
    return training || val_max_target_length == 0 ? max_target_length : val_max_target_length;
  }
  // Tokens of a text that evaluation writes, the start token among them.
  int64_t written_length() const { return generation_max_length.value_or(target_length(false)); }

  // --- what the tasks differ in -------------------------------------------------------------
  virtual Status check() const { return Ok{}; }  // flags that fit together
  virtual PairColumnOptions wish() const = 0;
  virtual TokenizerSide side(bool targets) const = 0;
  virtual std::optional<int64_t> beams() const = 0;  // none: generation_num_beams, else the model's
  virtual std::string metric() const = 0;            // of the shelf
  virtual std::string nltk_folder() const { return ""; }
  // The key of config.json's task_specific_params, and the words that T5 knows the task by.
  virtual std::string task_key() const = 0;
  virtual std::string usual_prefix() const = 0;
};

// The tokenizers of both sides: those of Marian differ, those of mBART in the codes they add.
struct PairTokenizers {
  Tokenizer sources, targets;
};
// The tokenizer of the model, or of --tokenizer_name. Errors: those of open_tokenizer, H2407 without one.
Result<PairTokenizers> open_pair_tokenizers(const Seq2SeqSettings& s, const Pretrained& model);

// The words before a text that tell the model its task.
struct TaskPrefix {
  std::string text;
  bool of_checkpoint = false;  // config.json says them; else what T5 usually knows the task by
};
// None: the model's config names none, and it is not a T5.
std::optional<TaskPrefix> task_prefix(const Seq2SeqSettings& s, const ModelConfig& config);

class Seq2SeqTask : public TokenTask {
 public:
  explicit Seq2SeqTask(const Seq2SeqSettings& s);  // which outlive the task
  ~Seq2SeqTask() override;
  using TokenTask::start;

  bool can_evaluate() const override { return eval_rows_ > 0; }
  Result<OrderedJson> evaluate() override;
  // generated_predictions.txt with predict_with_generate.
  Result<OrderedJson> predict(const std::string& folder) override;
  // generation_config.json gets the length of the run where it has none.
  Status save_model_files(const std::string& folder) override;

 private:
  Status read_data() override;
  int64_t normaliser(int64_t, const StepPlan& plan, const TakenRows&) override {
    return plan.label_tokens;
  }
  RunShapes shapes_for(int64_t rows, bool whole) const override;
  Status plan_rows(const TakenRows& taken, bool training, StepPlan& plan) override;
  Result<size_t> pack(const TakenRows& taken, const StepPlan& plan, size_t k, bool training,
                      MicroBatch& batch) override;
  void put_rows(size_t program, const MicroBatch& batch) override;
  void reserve_steps(size_t rows, StepPlan& plan, MicroBatch& batch) override;
  bool put(size_t, const MicroBatch&, int64_t) override { return false; }
  void begin_metrics() override { metrics_.emplace(s_.per_device_eval_batch_size); }
  bool add_metrics(size_t program, const MicroBatch& batch) override;
  double loss_so_far() const override { return metrics_->loss.eval_loss_per_token(); }
  OrderedJson metrics(int64_t rows) override;

  Status choose_generation();
  Result<OrderedJson> evaluate_range(int64_t begin, int64_t end, std::vector<std::string>* texts);
  // Writes a text for each row of [begin, end); false: a stop was requested.
  Result<bool> write_texts(int64_t begin, int64_t end, std::vector<std::string>& texts,
                           OrderedJson& metrics);

  const Seq2SeqSettings& s_;
  std::optional<PairTokenizers> tokenizers_;
  TokenRows train_sources_, eval_sources_;
  int64_t eval_rows_ = 0, test_rows_ = 0;  // of evaluation, kind by kind
  int64_t first_row_ = 0;                  // of the evaluation that runs
  bool test_has_targets_ = true;
  PairStepPlan pair_plan_;
  PairMicroBatch pair_;
  std::vector<int64_t> source_lengths_, target_lengths_;
  std::optional<TokenMetrics> metrics_;
  GenerationConfig generation_;
  std::unique_ptr<SentenceSplitter> sentences_;
  std::unique_ptr<Generator> generator_;
};

}  // namespace hone
