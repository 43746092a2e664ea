// Classification of texts and pairs of texts, or a number for each: run_glue.
#pragma once

#include "learn/data/batches/labelled_batch.h"
#include "learn/data/rows/glue_tasks.h"
#include "learn/data/rows/label_map.h"
#include "learn/tasks/classification_metrics.h"
#include "learn/tasks/sharded_rows.h"
#include "learn/tasks/token_task.h"

namespace hone {

struct ClassificationOwnSettings {
#define HONE_SETTINGS "learn/tasks/classification_settings.def"
#include "base/settings/fields.inc"
};

// Inputs of the programs beside those of every task (task_settings.h): token_types i32[T] for
// models that have them; labels i32[S] (-100: no row), or where the model has one label, which
// makes it a regression, labels and weight f32[S] (0: no row). Evaluation gives logits
// f32[S, labels] and does not read labels.
class ClassificationSettings : public TaskSettings,
                               public ClassificationOwnSettings,
                               public ShardedRows {
 public:
  using TaskSettings::bind;
  void bind_own(Schema& schema) override { ClassificationOwnSettings::bind(schema); }
  // The labels of the GLUE task, else those of config.json; the data have the last word.
  Status choose_head(ModelConfig& config) const override;
  int64_t row_tokens(const ModelConfig& config) const override;
  std::string row_tokens_flag() const override { return "max_seq_length"; }
  int64_t row_tokens_given() const override { return max_seq_length; }
  bool replaces_head() const override { return ignore_mismatched_sizes; }
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

  const GlueTask* glue() const { return find_glue_task(task_name); }
  // For a data set with matched and mismatched validation rows: evaluate both.
  virtual bool wants_mismatched() const { return true; }
};

class ClassificationTask : public TokenTask {
 public:
  explicit ClassificationTask(const ClassificationSettings& s);  // which outlive the task
  using TokenTask::start;

  bool can_evaluate() const override { return matched_ > 0; }
  Result<OrderedJson> evaluate() override;
  // predict_results_<task>.txt as run_glue writes it, and of mnli predict_results_mnli-mm.txt.
  Result<OrderedJson> predict(const std::string& folder) override;

 protected:
  Status read_data() override;
  int64_t labelled_rows() const { return labelled_rows_; }  // of training before any selection

 private:
  int64_t normaliser(int64_t, const StepPlan& plan, const TakenRows&) override { return plan.rows; }
  void reserve(const RunShapes& shapes) override;
  bool put(size_t program, const MicroBatch& batch, int64_t pass) override;
  void begin_metrics() override;
  bool add_metrics(size_t program, const MicroBatch& batch) override;
  double loss_so_far() const override { return metrics_->loss(); }
  OrderedJson metrics(int64_t rows) override;

  const ClassificationSettings& s_;
  RowLabels train_labels_, eval_labels_;
  int64_t labelled_rows_ = 0;
  // Rows of evaluation, kind by kind.
  int64_t matched_ = 0, mismatched_ = 0, test_ = 0, test_mismatched_ = 0;
  std::vector<float> predictions_;  // of the rows to predict: values, or numbers of classes
  LabelInputs inputs_;
  std::optional<ClassificationMetrics> metrics_, mismatched_metrics_;
};

// Writes labels and kind of problem into config.json, and the head into the config.
Status set_labels(ModelConfig& config, const LabelMap& map, const std::string& task_name);

}  // namespace hone
