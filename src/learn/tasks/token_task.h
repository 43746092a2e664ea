// What every task on token ids shares: rows in, the micro-batch that fits, programs, gradients,
// evaluation, files. A task (clm.h is the shortest) derives from this and says what differs:
//
//   read_data      its rows, and labels beside them
//   normaliser     by what the loss of an optimizer step is divided
//   prepare        changes to the ids of a micro-batch, such as masks
//   put            its own inputs of a program
//   metrics        what evaluation counts
//
// and its settings (task_settings.h) build the programs.
#pragma once

#include <memory>

#include "learn/metrics/loss.h"
#include "learn/tasks/row_feed.h"
#include "learn/tasks/run_programs.h"
#include "learn/train/trainer.h"

namespace hone {

class TokenTask : public TrainTask {
 public:
  Session& session() override { return *session_; }
  const StepCount& steps() const override { return *feed_->steps(); }
  int64_t train_rows() const override { return feed_->train_rows(); }
  Result<StepSums> take_step(int64_t step, double rate) override;
  bool can_evaluate() const override { return feed_->evaluates(); }
  Result<OrderedJson> evaluate() override;
  Status save_model_files(const std::string& folder) override;
  std::vector<std::string> weight_names() const override;
  std::string second_name(const std::string& name) const override;
  double flops_of_step(const StepSums& sums) const override;
  Json fingerprint() const override;
  Json data_place() const override { return feed_->data_place(); }
  Status seek(const Json& place, const std::string& name) override {
    return feed_->seek(place, name);
  }
  // --do_predict: files of predictions into the output folder, and their metrics where there are
  // references (names as of evaluate()). H2402 unless the task predicts.
  virtual Result<OrderedJson> predict(const std::string& folder);
  // Listens to the run besides those that the settings ask for; null: nothing.
  virtual std::unique_ptr<TrainCallback> callback() { return nullptr; }
  virtual Status end_run() { return Ok{}; }  // after a run that was not stopped

  const Pretrained& model() const { return model_; }
  MemoryReport memory() const;

 protected:
  // The settings must outlive the task.
  explicit TokenTask(const TaskSettings& s) : s_(s) {}
  // To be called once, by the task's maker. Errors name file, flag or tensor.
  Status start(Pretrained model, bool from_scratch);

  // --- what a task says ---------------------------------------------------------------------
  // Fills the feed: feed().read_text() or feed().set_rows(). May fill labels of model_.config (the
  // programs are built afterwards).
  virtual Status read_data() = 0;
  // By what the loss of an optimizer step is divided, known before its first micro-batch so that no
  // split changes it: label tokens, rows, ... At least 1.
  virtual int64_t normaliser(int64_t step, const StepPlan& plan, const TakenRows& taken) = 0;
  // Once before the first step, when the shapes are known: memory that steps use again.
  virtual void reserve(const RunShapes& shapes) { (void)shapes; }
  // Changes a packed micro-batch: row_ids and sample_ids are the rows' numbers in the data set;
  // `step` is kEvaluation outside training.
  static constexpr int64_t kEvaluation = -1;
  virtual void prepare(int64_t step, MicroBatch& batch) { (void)step, (void)batch; }
  // Puts the inputs besides those that task_settings.h lists, by put_input. A micro-batch whose
  // labels do not fit the program runs again with the rest of them: true asks for another pass.
  virtual bool put(size_t program, const MicroBatch& batch, int64_t pass) = 0;
  // Evaluation: begins, takes the outputs of a program that just ran on the batch (false: what the
  // metrics are made of is not finite), gives the metrics of `rows` rows (names without "eval_",
  // "samples" among them).
  virtual void begin_metrics() = 0;
  virtual bool add_metrics(size_t program, const MicroBatch& batch) = 0;
  virtual double loss_so_far() const = 0;  // for the progress line
  virtual OrderedJson metrics(int64_t rows) = 0;

  // Where a step is one program: whether the labels of the micro-batch fit the program of its
  // budget; else that for labels everywhere is taken.
  virtual bool labels_fit(const MicroBatch& batch) const {
    (void)batch;
    return true;
  }

  // How rows become micro-batches: packed as batch.h has it. Tasks of pairs say how instead. whole:
  // a step is one micro-batch, whichever rows it has.
  virtual RunShapes shapes_for(int64_t rows, bool whole) const;
  virtual Status plan_rows(const TakenRows& taken, bool training, StepPlan& plan);
  // Micro-batch k of the last plan_rows(), and the place of its programs among those of its kind.
  virtual Result<size_t> pack(const TakenRows& taken, const StepPlan& plan, size_t k, bool training,
                              MicroBatch& batch);
  // Micro-batch k of the plan into the largest budget.
  virtual void take_largest_budget(StepPlan& plan, size_t k);
  virtual void put_rows(size_t program, const MicroBatch& batch);
  virtual void reserve_steps(size_t rows, StepPlan& plan, MicroBatch& batch);

  // --- what it may use ----------------------------------------------------------------------
  RowFeed& feed() { return *feed_; }
  const RowFeed& feed() const { return *feed_; }
  ThreadPool& pool() { return backend_->device().pool(); }
  const RunShapes& shapes() const { return shapes_; }
  template <class T>
  void put_input(size_t program, const char* name, const std::vector<T>& v) {
    put_bytes(program, name, std::as_bytes(std::span(v)));
  }
  Pretrained model_;

 private:
  Status compile(bool from_scratch);
  // H2406: the micro-batch is evaluated again, and the first value that is not finite named.
  Error why_not_finite(size_t program, const MicroBatch& batch, int64_t pass);
  void find_programs();
  void put_bytes(size_t program, const char* name, std::span<const std::byte> bytes);
  Result<size_t> fill(const TakenRows& taken, const StepPlan& plan, size_t k, int64_t step,
                      MicroBatch& batch);
  void run_micro_batch(size_t program, int64_t step, float scale, StepSums& sums);
  void put_update(size_t program, int64_t step, double rate);

  const TaskSettings& s_;
  std::unique_ptr<Backend> backend_;
  std::optional<RowFeed> feed_;
  std::optional<Session> session_;
  RunShapes shapes_;
  int64_t row_tokens_ = 0;
  Split split_;
  int64_t parameters_outside_embeddings_ = 0;
  // By budget of the grid: indices of the session's programs. Whole steps, or gradients and update.
  std::vector<size_t> step_programs_, train_programs_, train_add_programs_, eval_programs_;
  size_t update_program_ = 0;
  int64_t bytes_before_arena_ = 0;
  // Used again by every step, so that no step allocates.
  MicroBatch batch_;
  StepPlan plan_;
  std::vector<int64_t> lengths_;
};

// Loss, accuracy and perplexity of tasks that predict tokens, with the names of run_clm and
// run_mlm.
struct TokenMetrics {
  explicit TokenMetrics(int64_t batch_rows) : loss(batch_rows) {}
  EvalLoss loss;
  Accuracy accuracy;
  // Each sequence of the batch; nll [T] and correct [T] count where there is a label. Rows are
  // counted from `first` on.
  bool add(const MicroBatch& batch, std::span<const float> nll, std::span<const int32_t> correct,
           int64_t first = 0);
  OrderedJson json(int64_t rows) const;
};

}  // namespace hone
