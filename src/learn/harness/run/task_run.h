// A run of a task: its rows, micro-batches, programs, gradients, evaluation and files. Tasks differ only by the data
// and functions in Task and Examples (learn/harness/task.h, examples.h); no class derives from TaskRun.
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
  // Reads the data, chooses the micro-batch, compiles the programs, allocates memory, loads the weights, and prints the
  // summary. `from_scratch`: weights are initialized instead of loaded. The task must outlive the run. Errors name the
  // file, flag or tensor.
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
  // For --do_predict: writes files of predictions into the folder and returns the result of Examples::predict, which
  // must be set. Metrics have the same names as those of evaluate().
  Result<OrderedJson> predict(const std::string& folder);
  // The task's own callback, in addition to those that the settings ask for; null: the task has none.
  std::unique_ptr<TrainCallback> callback();
  // Calls Examples::ended on rank 0; does nothing on other ranks. Call it after a run that was not stopped.
  Status end() { return ranks().leads() ? examples_.ended(*this) : Status(Ok{}); }
  std::span<std::byte> save_copy() override;
  MemoryReport memory() const;
  // The time that was predicted before the first step; nullopt: the speed of the machine is unknown.
  const std::optional<RunTime>& time() const { return time_; }

  // Returns H2430 if the data, model or programs of a rank differ from those of rank 0. All ranks call it.
  Status check_ranks() const;

  // For the task's functions: evaluates the rows [begin, end) of Examples::eval, and calls metrics.add() for each
  // micro-batch. Returns the number of rows; -1: a stop was requested before the last row. `title`: the word for the
  // progress in the log; null: "evaluating" or, during predict(), "predicting". Errors: H2406 a value is not finite;
  // H1323 the disk with offloaded values failed; those of Examples::collate.
  Result<int64_t> evaluate_rows(int64_t begin, int64_t end, EvalMetrics& metrics,
                                const char* title = nullptr);
  // Evaluates the rows of Examples::eval with these indices, in this order. Logs no progress. Otherwise as the other
  // evaluate_rows().
  Result<int64_t> evaluate_rows(std::vector<int64_t> rows, EvalMetrics& metrics);
  // The indices of a step's training rows in their order. all: the rows of all ranks. mine: the rows of this rank.
  struct RowsOfStep {
    int64_t epoch = 0;
    std::vector<int64_t> all, mine;
  };
  // Sets `rows` to the rows of training step `step`. For tasks that prepare data before a step. Not for streams.
  void find_rows_of(int64_t step, RowsOfStep& rows);
  // Sets the weights to the values that they had when Examples::opened was called.
  Status load_first_weights() { return fill_weights(from_scratch_); }
  // Call this after programs have run and before you use their results. Errors: H1323 the disk with offloaded values
  // failed; those of Session::check for other failures of the device.
  Status check_device() const;
  const Pretrained& model() const { return model_; }
  const Examples& examples() const { return examples_; }
  const RunShapes& shapes() const { return shapes_; }
  // The ranks of the run. All ranks evaluate and predict together and have the same metrics; rank 0 writes the files.
  RunRanks& ranks() const { return *s_.ranks; }
  // Whether each program gathers weights from other ranks (ZeRO stage 3). All ranks must then run the same programs the
  // same number of times.
  bool gathers_weights() const;
  // Whether all ranks must run each micro-batch in the same shape, that of the largest one.
  bool has_equal_shapes() const;
  // The number of ranks that have the same rows: the size of the mesh's axis `tensor`. Such ranks are consecutive.
  size_t ranks_of_rows() const { return static_cast<size_t>(ranks().tensor().ranks); }

 private:
  struct BoundProgram {
    size_t index = 0;  // of the program in the session
    Batch inputs;      // the program's inputs
  };

  explicit TaskRun(const Task& task) : task_(task), s_(*task.settings) {}
  Status start(Pretrained model, bool from_scratch);
  Status check_head() const;  // H2281 the checkpoint has no weights for the head
  Status compile(bool from_scratch);
  // Bytes of streams, plus the bytes of rows that exceed kRowsBudget.
  int64_t data_bytes() const;
  // The smallest limits of all ranks.
  Result<ArenaLimits> limits_of_ranks(const ArenaLimits& own);
  // Changes `fit` to the smallest micro-batch of all ranks.
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

  Status take_lengths(const TakenRows& taken);  // fills lengths_
  Status plan_rows(const TakenRows& taken, const BatchGrid& grid, StepPlan& plan);
  // Divides this rank's rows of a step into micro-batches (plan_) and returns the rows.
  Result<TakenRows> plan_part(const TakenRows& all);
  // Changes the shapes of the micro-batches in plan_ to the step's size of images.
  void take_side(int64_t step);
  // For each micro-batch, the largest number of tokens that any rank has in it, on each axis.
  Result<std::vector<AxisTokens>> most_tokens(const TakenRows& all);
  // The numbers of rows and tokens of all ranks. Call it after plan_part().
  const StepPlan& whole_step() const { return ranks().alone() || in_units() ? plan_ : whole_step_; }
  bool reduces_each_batch() const;  // programs of micro-batches have collectives
  bool runs_equally() const;        // all ranks must run equally many micro-batches
  // With --split_invariant: a step consists of units of rows. In each round each rank computes one unit or none.
  bool in_units() const { return shapes_.units > 0; }
  // Whether the update adds the parts of the ranks. With units it does so even on one rank.
  bool shares_update() const { return in_units() || !ranks().alone(); }
  int64_t unit_rows() const { return shapes_.train.max_rows; }
  int64_t most_rounds() const;  // the largest number of rounds of a step
  Result<TakenRows> plan_units_of(const TakenRows& all);
  // Sets the program's input `present`: the number of ranks that have a unit in this round.
  void put_present(BoundProgram& program, size_t round);
  // Stores the loss of this rank's unit in this round. Does nothing if the rank has no unit in it.
  void keep_unit_loss(size_t round, double loss);
  Result<bool> on_any_rank(bool mine);  // whether `mine` is true on any rank; all ranks call it
  // Adds the update's sums over the ranks to `sums`, and requests a stop if another rank has requested a stop.
  void take_reduced(const BoundProgram& program, double loss_scale, StepSums& sums);
  CollatedRows rows_of(const TakenRows& taken, const MicroBatchPlan& batch, int64_t step);
  // Runs the program of a micro-batch. `scale`: factor of the loss, which includes the loss scale.
  void run_micro_batch(BoundProgram& program, int64_t step, float scale);
  // The output `loss` of a micro-batch, multiplied by the loss scale.
  double loss_of(const BoundProgram& program) const;
  // Fills the inputs of the update. `loss`: the loss of this rank, multiplied by the loss scale. With units,
  // unit_losses_ are used instead.
  void put_update(BoundProgram& program, const StepUpdate& update, double loss);
  // Steps of a JointLoss (task_run_joint.cc).
  void bind_joint();
  Result<double> run_joint(const TakenRows& all, const TakenRows& mine, int64_t step, float scale);
  Status gather_embeddings(const TakenRows& all);
  // Sets the program's input `gradient` to the gradients of the embeddings of the micro-batch's rows.
  void put_gradient(const MicroBatchPlan& batch, BoundProgram& program) const;
  Result<StepSums> compute_step(int64_t step, const StepUpdate& update);
  Result<StepSums> take_whole_step(const TakenRows& taken, int64_t step, const StepUpdate& update,
                                   float scale, StepSums sums);
  // Runs the micro-batch of an evaluation again and returns H2406 with the first value that is not finite.
  Status why_not_finite(BoundProgram& program, const CollatedRows& rows);
  Status add_not_finite_of_ranks(NotFiniteStep& why);
  // A micro-batch of an evaluation.
  struct EvalPart {
    TakenRows rows;
    MicroBatchPlan batch;
  };
  // Evaluates the rows for which the feed started an evaluation. Calls `after` with the number of rows done, each time
  // after several micro-batches.
  Result<int64_t> evaluate_begun(EvalMetrics& metrics, FunctionRef<void(int64_t done)> after);
  Status evaluate_part(const EvalPart& part, EvalMetrics& metrics);
  Status evaluate_parts(std::span<EvalPart> parts, EvalMetrics& metrics);
  Result<std::string> outputs_of_pass(const EvalPart& part, int64_t pass);
  void note_rows(const CollatedRows& rows, const BatchShape& shape);

  const Task& task_;
  const TaskSettings& s_;
  const char* rows_title_ = "evaluating";  // the word for the progress of evaluate_rows()
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
  // Programs by shape of the grid. A step is one program of step_programs_, or several of train_programs_ and
  // accumulate_programs_ and then update_program_.
  std::vector<BoundProgram> step_programs_, train_programs_, accumulate_programs_, eval_programs_;
  BoundProgram update_program_;
  struct JointStep {
    std::vector<BoundProgram> embed;  // by shape of the grid
    BoundProgram loss;
    size_t width = 0;  // floats of a row's embedding
    // `own`: embeddings of this rank's rows. `embeddings`, `gradient`: those of all rows.
    std::vector<float> own, embeddings, gradient;
    std::vector<int64_t> all_places, places;  // places: indices of this rank's rows among all
  };
  std::optional<JointStep> joint_;
  std::unique_ptr<Memory> save_copy_;  // null: none
  int64_t bytes_before_arena_ = 0;     // pages of the process before the arenas were mapped
  // State of a step that is repeated to find the first value that is not finite.
  struct Search {
    std::optional<NotFinite> found;  // the value; nullopt: not found yet
    std::vector<std::string> rows;   // places of the rows that caused it
  };
  std::optional<Search> search_;
  // Memory that every step reuses, so that no step allocates.
  StepPlan plan_;                              // this rank's micro-batches
  std::vector<std::vector<int64_t>> lengths_;  // lengths of the step's rows, by axis
  std::vector<int64_t> rows_;                  // rows of a micro-batch
  StepPlan whole_step_;                        // rows and tokens of all ranks, without batches
  std::vector<int64_t> own_rows_;              // this rank's rows of the step
  std::vector<double> unit_losses_;            // losses of this rank's units of a step, by round
};

}  // namespace hone
