// A task's data: rows, and the functions that turn rows into batches and metrics. Task::examples returns them once,
// before the first step.
#pragma once

#include <functional>
#include <memory>

#include "learn/data/batches/batch.h"
#include "learn/data/rows/text_stream.h"
#include "learn/harness/port_batch.h"
#include "learn/train/trainer.h"

namespace hone {

class TaskRun;
struct RunShapes;

// The rows of a split. Row i has token ids on each axis of the task's form (RunForm::limits): one axis, or source and
// target.
struct ExampleRows {
  std::vector<TokenRows> axes;  // by axis; all have the same number of rows

  ExampleRows() = default;
  explicit ExampleRows(TokenRows rows) { axes.push_back(std::move(rows)); }
  int64_t size() const { return axes[0].size(); }
};

// The source of a run's rows.
struct ExampleSource {
  ThreadPool& pool;  // for reading and encoding
  // Training rows to use instead of those that the settings name; null: read those that the settings name.
  const ExampleRows* rows = nullptr;
};

// The rows of one micro-batch and their purpose.
struct CollatedRows {
  static constexpr int64_t kEvaluation = -1;
  const ExampleRows& data;
  BatchRows rows;    // indices into `data`
  int64_t step = 0;  // number of the training step from 0, or kEvaluation
  // Number of the program's run on these rows, from 0. Rows run again if their labels do not fit into the first run.
  int64_t pass = 0;
  bool training() const { return step != kEvaluation; }
};

// Sums up the metrics of an evaluation.
class EvalMetrics {
 public:
  virtual ~EvalMetrics() = default;
  // Adds the outputs of a program that just ran on these rows. False: an output that the metrics use is not finite.
  virtual bool add(const CollatedRows& rows, const Batch& outputs) = 0;
  virtual double loss() const = 0;  // mean loss of the rows added; NaN: the task has none
  // The metrics by name, without the prefix "eval_"; "samples" is the number of rows. `rows`: number of rows added.
  virtual OrderedJson values(int64_t rows) const = 0;
};

struct Examples {
  // --- rows -------------------------------------------------------------------------------
  // A split has rows or a stream; if it has neither, the run does not need it. Streams have one axis.
  std::optional<ExampleRows> train, eval;
  std::unique_ptr<TextStream> train_stream, eval_stream;
  uint64_t hash = 0;  // hash of the training rows; for a stream, of its files and settings
  // The first `evaluated` rows of `eval` are evaluated; the rows after them are rows to predict.
  int64_t evaluated = INT64_MAX;
  // The first `compared` rows of `eval` run through the evaluation program; the others do not need it.
  int64_t compared = INT64_MAX;
  int64_t train_rows_read = 0;  // number of training rows before any selection
  int64_t held_bytes = 0;  // memory besides the rows: images, and pixels prepared for later steps

  // --- functions of steps and evaluations -----------------------------------------------------
  // Fills the inputs of a program; the sizes of its tensors give the shape. True: some labels did not fit, and the rows
  // need another pass (CollatedRows::pass). Does not allocate memory. Errors: H0117 the file of the rows was changed;
  // H2415 a token id that the model does not have.
  std::function<Result<bool>(const CollatedRows& rows, Batch& to)> collate;
  // Fills the inputs of JointLoss::loss, except `embeddings` and `scale`. `rows`: all rows of a step.
  std::function<void(const CollatedRows& rows, Batch& to)> collate_joint;
  // The divisor of an optimizer step's loss: its number of label tokens, of rows, ... It is computed before the first
  // micro-batch, so the split into micro-batches does not change it. 0: the step has no labels.
  std::function<int64_t(int64_t step, const StepPlan& plan, const ExampleRows& data,
                        const BatchRows& rows)>
      normaliser;
  // Changes the order of an epoch's training rows in place. `order`: indices of all rows. `step_rows`: number of rows
  // of a step. Unset: the order stays.
  std::function<void(std::span<int64_t> order, int64_t step_rows)> reorder;
  // The index in RunForm::sides of the image size of a training step. Set if RunForm::sides is not empty.
  std::function<size_t(int64_t step)> side_of_step = nullptr;
  // Returns new metrics for the rows of `eval` from index `first` on.
  std::function<std::unique_ptr<EvalMetrics>(int64_t first)> metrics;
  // Allocates memory that steps reuse. Called once before the first step.
  std::function<void(const RunShapes&)> reserve = [](const RunShapes&) {};

  // --- optional functions ---------------------------------------------------------------------
  // Called once when the weights have the values that the run starts from, even if the run then continues from a
  // checkpoint. May evaluate rows.
  std::function<Status(TaskRun&)> opened = [](TaskRun&) { return Ok{}; };
  // Called before the micro-batches of a step, with the step's rows of all ranks. May evaluate rows.
  std::function<Status(TaskRun&, int64_t step, const BatchRows& rows)> before_step = nullptr;
  // Total seconds that `collate` has waited for data.
  std::function<double()> waited_seconds = [] { return 0.0; };
  // Called after a micro-batch of a step, with the outputs of its program.
  std::function<void(const CollatedRows& rows, const Batch& outputs)> after_batch = nullptr;
  // The task's own values in the log; set both functions or neither. log_sums returns sums over this rank's rows since
  // its last call, the same number of sums on every rank. log_values gets the sums added over all ranks and returns the
  // values to log, by name.
  std::function<std::vector<double>()> log_sums = nullptr;
  std::function<OrderedJson(std::span<const double> sums)> log_values = nullptr;
  // Returns the images for the log that were made since the last call. Unset: the task makes no images.
  std::function<LogMedia()> media = nullptr;
  // Replaces the evaluation: returns the metrics of the evaluated rows; an empty object if a stop was requested. Unset:
  // the rows run through the evaluation program and `metrics`.
  std::function<Result<OrderedJson>(TaskRun&)> evaluate;
  // Writes files of predictions into the folder. Returns their metrics if the rows to predict have references, else an
  // empty object.
  std::function<Result<OrderedJson>(TaskRun&, const std::string& folder)> predict;
  // Called while a model is saved, after its config and tokenizer were written into the folder. The weights may not be
  // there yet.
  std::function<Status(const std::string& folder)> saved = [](const std::string&) { return Ok{}; };
  // Returns a callback of the task, in addition to those that the settings ask for.
  std::function<std::unique_ptr<TrainCallback>(TaskRun&)> callback;
  // Called after a run that was not stopped.
  std::function<Status(TaskRun&)> ended = [](TaskRun&) { return Ok{}; };
};

}  // namespace hone
