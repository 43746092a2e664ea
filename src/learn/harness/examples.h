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
  // The number of times that the program already ran on these rows. The program runs again if `collate` returned true:
  // some labels did not fit.
  int64_t pass = 0;
  bool training() const { return step != kEvaluation; }
};

// Sums up the metrics of an evaluation.
class EvalMetrics {
 public:
  virtual ~EvalMetrics() = default;
  // Adds the outputs of a program that just ran on these rows. Returns false if an output that the metrics use is not
  // finite.
  virtual bool add(const CollatedRows& rows, const Batch& outputs) = 0;
  virtual double loss() const = 0;  // mean loss of the rows added; NaN: the task has none
  // The metrics by name, without the prefix "eval_". "samples" is the number of rows. `rows`: number of rows added.
  virtual OrderedJson values(int64_t rows) const = 0;
};

struct Examples {
  // --- rows -------------------------------------------------------------------------------
  // A split has rows or a stream. If it has neither, the run does not need the split. Rows of a stream have one axis.
  std::optional<ExampleRows> train, eval;
  std::unique_ptr<TextStream> train_stream, eval_stream;
  uint64_t hash = 0;  // hash of the training rows; for a stream, of its files and settings
  // The first `evaluated` rows of `eval` are evaluated. Rows after them are rows to predict, or rows that the task
  // evaluates for its own use. The default: all rows.
  int64_t evaluated = INT64_MAX;
  // Only the first `compared` rows of `eval` run through the evaluation program. The default: all rows.
  int64_t compared = INT64_MAX;
  int64_t train_rows_read = 0;  // number of training rows before any selection
  // Bytes of host memory that the examples need besides the rows: images, and pixels prepared for later steps.
  int64_t held_bytes = 0;

  // --- functions of steps and evaluations -----------------------------------------------------
  // Fills the inputs `to` of a program from the rows; the sizes of its tensors give the shape. Returns true if some
  // labels did not fit: the caller then runs the program and calls this again for the next pass (CollatedRows::pass).
  // Must not allocate memory. Errors: H0117 the file of the rows was changed; H2415 a token id that the model does not
  // have.
  std::function<Result<bool>(const CollatedRows& rows, Batch& to)> collate;
  // Fills the inputs of JointLoss::loss, except `embeddings` and `scale`. `rows`: all rows of a step.
  std::function<void(const CollatedRows& rows, Batch& to)> collate_joint;
  // Returns the divisor of an optimizer step's loss, such as the number of label tokens or of rows of the step. 0: the
  // step has no labels. Called before the first micro-batch of the step, so the split into micro-batches does not
  // change the divisor. `plan`: the numbers of rows and tokens of the step. `rows`: the step's rows of all ranks.
  std::function<int64_t(int64_t step, const StepPlan& plan, const ExampleRows& data,
                        const BatchRows& rows)>
      normaliser;
  // Changes the order of an epoch's training rows in place. `order`: indices of all rows, in the order in which steps
  // would take them. `step_rows`: rows of an optimizer step of all ranks. Unset: the order stays.
  std::function<void(std::span<int64_t> order, int64_t step_rows)> reorder;
  // Returns the index in RunForm::sides of the image size of a training step. Unset if and only if RunForm::sides is
  // empty.
  std::function<size_t(int64_t step)> side_of_step = nullptr;
  // Returns new metrics for the rows of `eval` from index `first` on.
  std::function<std::unique_ptr<EvalMetrics>(int64_t first)> metrics;
  // Allocates memory that steps reuse. Called once, before the weights are loaded.
  std::function<void(const RunShapes&)> reserve = [](const RunShapes&) {};

  // --- optional functions ---------------------------------------------------------------------
  // Called once, before training, when the session has the weights from which the run first starts. The weights of a
  // checkpoint to resume from are loaded later. May evaluate rows.
  std::function<Status(TaskRun&)> opened = [](TaskRun&) { return Ok{}; };
  // Called before the micro-batches of a step, with the step's rows of all ranks. May evaluate rows.
  std::function<Status(TaskRun&, int64_t step, const BatchRows& rows)> before_step = nullptr;
  // Returns the total seconds that `collate` has waited for data.
  std::function<double()> waited_seconds = [] { return 0.0; };
  // Called after each run of a program on a micro-batch of a step, with the outputs of the program.
  std::function<void(const CollatedRows& rows, const Batch& outputs)> after_batch = nullptr;
  // For the task's own values in the log; set both functions or neither. log_sums returns sums over this rank's rows
  // since its last call; it must return the same number of sums on every rank. The sums of all ranks are added.
  // log_values gets the results and returns the values to log, by name.
  std::function<std::vector<double>()> log_sums = nullptr;
  std::function<OrderedJson(std::span<const double> sums)> log_values = nullptr;
  // Returns the images for the log that were made since the last call. Unset: the task makes no images.
  std::function<LogMedia()> media = nullptr;
  // Replaces the usual evaluation. Returns the metrics of the evaluated rows, or an empty object if a stop was
  // requested. Unset: the rows run through the evaluation program, and `metrics` computes the metrics.
  std::function<Result<OrderedJson>(TaskRun&)> evaluate;
  // Writes files of predictions into the folder. Returns the metrics of the predictions if the rows to predict have
  // references. Otherwise returns an empty object, or only metrics that need no references, such as "samples".
  std::function<Result<OrderedJson>(TaskRun&, const std::string& folder)> predict;
  // Called while a model is saved, after its config and tokenizer were written into the folder. The weights may not be
  // there yet.
  std::function<Status(const std::string& folder)> saved = [](const std::string&) { return Ok{}; };
  // Returns a callback of the task, in addition to those that the settings ask for.
  std::function<std::unique_ptr<TrainCallback>(TaskRun&)> callback;
  // Called on rank 0 at the end of a run that was not stopped.
  std::function<Status(TaskRun&)> ended = [](TaskRun&) { return Ok{}; };
};

}  // namespace hone
