// A run of a task: its rows, micro-batches, programs, gradients, evaluation, files. Tasks differ
// only by data and functions (learn/harness/task.h, examples.h); nothing derives from this class.
//
//   const auto run = HONE_TRY(TaskRun::open(task, std::move(model), from_scratch));
//   Trainer trainer(*task.settings, *run, ...);
#pragma once

#include "learn/harness/budget/machine_speeds.h"
#include "learn/harness/budget/placement.h"
#include "learn/harness/budget/run_time.h"
#include "learn/harness/budget/save_copy.h"
#include "learn/harness/feed.h"
#include "learn/models/adapter_config.h"
#include "learn/train/run_ranks.h"
#include "learn/train/trainer.h"

namespace hone {

class TaskRun final : public TrainTask {
 public:
  // Reads the data, chooses the micro-batch, compiles, allocates, loads the weights, and prints the
  // summary. The task must outlive the run. Errors name file, flag or tensor.
  static Result<std::unique_ptr<TaskRun>> open(const Task& task, Pretrained model,
                                               bool from_scratch);

  Session& session() override { return *session_; }
  const Backend& backend() const { return *backend_; }
  const StepCount& steps() const override { return *feed_->steps(); }
  int64_t train_rows() const override { return feed_->train_rows(); }
  Result<StepSums> take_step(int64_t step, const StepUpdate& update) override;
  Result<NotFiniteStep> why_not_finite(int64_t step, const StepUpdate& update) override;
  bool can_evaluate() const override { return feed_->evaluates() && examples_.evaluated > 0; }
  Result<OrderedJson> evaluate() override;
  Result<OrderedJson> logged() override;
  LogMedia take_media() override { return examples_.media ? examples_.media() : LogMedia(); }
  Status save_model_files(const std::string& folder) override;
  Status save_finished_files(const std::string& folder) override;
  std::vector<TensorData> finished_tensors(std::vector<TensorData> weights) override;
  std::vector<std::string> weight_names() const override;
  std::string weights_stem() const override {
    return model_.config.adapter ? kAdapterStem : TrainTask::weights_stem();
  }
  std::string second_name(const std::string& name) const override;
  std::string saved_name(const std::string& name) const override;
  Result<std::vector<TensorData>> other_tensors() const override;
  std::map<std::string, std::vector<std::string>> other_names() const override;
  std::optional<std::vector<NumberedWeight>> numbered_weights() const override;
  double flops_of_step(const StepSums& sums) const override;
  Json fingerprint() const override;
  Json data_place() const override { return feed_->data_place(); }
  Status seek(const Json& place, const std::string& name) override {
    return feed_->seek(place, name);
  }
  // --do_predict: writes files of predictions into the output folder and returns their metrics if
  // there are references (names as of evaluate()). Only for tasks with predict.
  Result<OrderedJson> predict(const std::string& folder);
  // The task's own callback, besides those of the settings; null if it has none.
  std::unique_ptr<TrainCallback> callback();
  // After a run that was not stopped.
  Status end() { return ranks().leads() ? examples_.ended(*this) : Status(Ok{}); }
  std::span<std::byte> save_copy() override;
  MemoryReport memory() const;
  // The prediction made before the first step; null if the machine's speed is unknown.
  const std::optional<RunTime>& time() const { return time_; }

  // Refuses ranks with other data, models or programs than rank 0 (H2430). All ranks call it.
  Status check_ranks() const;

  // For the task's functions: evaluates the rows [begin, end) and adds them to the metrics. Returns
  // their number; -1: a stop was requested. Errors: H2406, H1323, those of collate.
  Result<int64_t> evaluate_rows(int64_t begin, int64_t end, EvalMetrics& metrics,
                                const char* title = nullptr);
  // The same for these rows of the evaluation, in this order, without progress in the log.
  Result<int64_t> evaluate_rows(std::vector<int64_t> rows, EvalMetrics& metrics);
  // The rows of a step of rows in memory, in their order, and those that this rank computes. For data that are made
  // ready before their step.
  struct RowsOfStep {
    int64_t epoch = 0;
    std::vector<int64_t> all, mine;
  };
  void find_rows_of(int64_t step, RowsOfStep& rows);
  // Gives the weights the values again that the run starts from.
  Status load_first_weights() { return fill_weights(from_scratch_); }
  // Call after programs have run, before their results are used. Errors: H1323.
  Status check_device() const;
  const Pretrained& model() const { return model_; }
  const Examples& examples() const { return examples_; }
  const RunShapes& shapes() const { return shapes_; }
  // All ranks evaluate and predict together and have the same metrics; rank 0 writes the files.
  RunRanks& ranks() const { return *s_.ranks; }
  // Every program gathers weights, so all ranks run the same ones, as often.
  bool gathers_weights() const;
  // All ranks run micro-batches in the shape of the largest one.
  bool has_equal_shapes() const;
  // Ranks one after another that have the same rows.
  size_t ranks_of_rows() const { return static_cast<size_t>(ranks().tensor().ranks); }

 private:
  // The inputs of a program, and its index in the session.
  struct BoundProgram {
    size_t index = 0;
    Batch inputs;
  };

  explicit TaskRun(const Task& task) : task_(task), s_(*task.settings) {}
  Status start(Pretrained model, bool from_scratch);
  Status check_head() const;  // H2281
  Status compile(bool from_scratch);
  // Memory of streams, and of rows above the runtime's budget.
  int64_t data_bytes() const;
  // The smallest limits and the smallest micro-batch of all ranks.
  Result<ArenaLimits> limits_of_ranks(const ArenaLimits& own);
  Status agree_on(Fit& fit, const ArenaLimits& limits, int64_t wanted);
  Result<Fit> choose_split(const ArenaLimits& limits, int64_t wanted);
  PlacementSearch search_of(const ArenaLimits& limits, int64_t wanted) const;
  Status choose_placement(const ArenaLimits& limits, int64_t wanted);  // --auto_fit
  DiskNeed disk_need_of(const RunPlan& plan) const;
  Status check_disk(const RunPlan& plan) const;                                         // H2425
  Status predict_time(const RunPlan& plan, std::span<const Program> programs);          // H2426
  Error does_not_fit(const Fit& fit, const ArenaLimits& limits, int64_t wanted) const;  // H2404
  std::string fitting_placement(const ArenaLimits& limits, int64_t wanted) const;
  std::vector<std::string> enough_memory(const Needs& needs, const ArenaLimits& limits) const;
  void log_memory(const Fit& fit, const ArenaLimits& limits, const SaveCopy& copy) const;
  void log_micro_batch(int64_t fitting, int64_t wanted) const;
  Status allocate(std::vector<Program> programs, const SaveCopy& copy);
  Status fill_weights(bool from_scratch);
  RunShapes shapes_for(int64_t rows, bool whole) const;
  void bind_programs();
  int64_t row_tokens() const { return made_->form.limits[0].tokens; }

  Status take_lengths(const TakenRows& taken);  // into lengths_
  Status plan_rows(const TakenRows& taken, const BatchGrid& grid, StepPlan& plan);
  // Plans this rank's rows of a step into plan_ and returns them.
  Result<TakenRows> plan_part(const TakenRows& all);
  void take_side(int64_t step);  // the shapes of plan_ for the step's size of images
  Result<std::vector<AxisTokens>> most_tokens(const TakenRows& all);
  // The rows of all ranks, after plan_part().
  const StepPlan& whole_step() const { return ranks().alone() || in_units() ? plan_ : whole_step_; }
  bool reduces_each_batch() const;  // collectives in each micro-batch
  bool runs_equally() const;
  bool in_units() const { return shapes_.units > 0; }
  // The update adds the ranks' parts, also of one rank if a step is made of units.
  bool shares_update() const { return in_units() || !ranks().alone(); }
  int64_t unit_rows() const { return shapes_.train.max_rows; }
  int64_t most_rounds() const;  // in which each rank computes a unit
  Result<TakenRows> plan_units_of(const TakenRows& all);
  // The number of ranks that have a unit in round k, into the program's inputs.
  void put_present(BoundProgram& program, size_t round);
  // Notes the loss of this rank's unit of round k; 0 if it has none.
  void keep_unit_loss(size_t round, double loss);
  Result<bool> on_any_rank(bool mine);
  // Adds the update's sums over the ranks, and takes a stop that one of them requests.
  void take_reduced(const BoundProgram& program, double loss_scale, StepSums& sums);
  CollatedRows rows_of(const TakenRows& taken, const MicroBatchPlan& batch, int64_t step);
  // `scale`: factor of the loss, with the loss scale.
  void run_micro_batch(BoundProgram& program, int64_t step, float scale);
  double loss_of(const BoundProgram& program) const;  // of a micro-batch, with the loss scale
  // `loss`: of this rank, as its programs computed it. With units unit_losses_ are taken instead.
  void put_update(BoundProgram& program, const StepUpdate& update, double loss);
  // Steps of a JointLoss (task_run_joint.cc).
  void bind_joint();
  Result<double> run_joint(const TakenRows& all, const TakenRows& mine, int64_t step, float scale);
  Status gather_embeddings(const TakenRows& all);
  // Gives the micro-batch of a program the gradients of its rows.
  void put_gradient(const MicroBatchPlan& batch, BoundProgram& program) const;
  Result<StepSums> compute_step(int64_t step, const StepUpdate& update);
  Result<StepSums> take_whole_step(const TakenRows& taken, int64_t step, const StepUpdate& update,
                                   float scale, StepSums sums);
  // H2406: evaluates the micro-batch again and names the first value that is not finite.
  Status why_not_finite(BoundProgram& program, const CollatedRows& rows);
  Status add_not_finite_of_ranks(NotFiniteStep& why);
  // A micro-batch of an evaluation.
  struct EvalPart {
    TakenRows rows;
    MicroBatchPlan batch;
  };
  // The rows with which the feed began; `after` is called between micro-batches.
  Result<int64_t> evaluate_begun(EvalMetrics& metrics, FunctionRef<void(int64_t done)> after);
  Status evaluate_part(const EvalPart& part, EvalMetrics& metrics);
  Status evaluate_parts(std::span<EvalPart> parts, EvalMetrics& metrics);
  Result<std::string> outputs_of_pass(const EvalPart& part, int64_t pass);
  void note_rows(const CollatedRows& rows, const BatchShape& shape);

  const Task& task_;
  const TaskSettings& s_;
  const char* rows_title_ = "evaluating";  // of the progress of evaluate_rows
  Pretrained model_;
  std::unique_ptr<Backend> backend_;
  std::optional<MachineSpeeds> speeds_;
  std::optional<RunTime> time_;
  std::optional<TaskModel> made_;
  Examples examples_;
  std::optional<RowFeed> feed_;
  std::optional<Session> session_;
  RunShapes shapes_;
  Split split_;
  int64_t parameters_outside_embeddings_ = 0;
  bool from_scratch_ = false;
  // Programs by shape of the grid: whole steps, or gradients and update.
  std::vector<BoundProgram> step_programs_, train_programs_, accumulate_programs_, eval_programs_;
  BoundProgram update_program_;
  struct JointStep {
    std::vector<BoundProgram> embed;  // by shape of the grid
    BoundProgram loss;
    size_t width = 0;                              // floats of a row
    std::vector<float> own, embeddings, gradient;  // of this rank's rows, of all rows
    std::vector<int64_t> all_places, places;       // places: of this rank's rows among all
  };
  std::optional<JointStep> joint_;
  std::unique_ptr<Memory> save_copy_;  // null: none
  int64_t bytes_before_arena_ = 0;
  // State of a step that is repeated to find a value.
  struct Search {
    std::optional<NotFinite> found;
    std::vector<std::string> rows;
  };
  std::optional<Search> search_;
  // Reused by every step, so that no step allocates.
  StepPlan plan_;
  std::vector<std::vector<int64_t>> lengths_;  // by axis
  std::vector<int64_t> rows_;                  // of a micro-batch
  StepPlan whole_step_;                        // rows and tokens of all ranks, without batches
  std::vector<int64_t> own_rows_;              // of a step, this rank's
  std::vector<double> unit_losses_;            // of a step, by round
};

}  // namespace hone
