// A task's data: rows, and the functions that turn them into batches and metrics. A task hands them
// over once, before the first step (Task::examples).
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

// The rows of a split: token ids on each axis of the task's form, the same number of rows on each.
struct ExampleRows {
  std::vector<TokenRows> axes;

  ExampleRows() = default;
  explicit ExampleRows(TokenRows rows) { axes.push_back(std::move(rows)); }
  int64_t size() const { return axes[0].size(); }
};

// The source of a run's rows.
struct ExampleSource {
  ThreadPool& pool;
  const ExampleRows* rows = nullptr;  // training rows that replace those of the settings
};

// The rows of one micro-batch and their purpose.
struct CollatedRows {
  static constexpr int64_t kEvaluation = -1;
  const ExampleRows& data;
  BatchRows rows;    // indices into `data`
  int64_t step = 0;  // number of the training step, or kEvaluation
  int64_t pass = 0;  // 0, 1, ... for labels that do not fit one run of the program
  bool training() const { return step != kEvaluation; }
};

// The counts of an evaluation.
class EvalMetrics {
 public:
  virtual ~EvalMetrics() = default;
  // Adds the outputs of a program that just ran on these rows. False: an input of the metrics is
  // not finite.
  virtual bool add(const CollatedRows& rows, const Batch& outputs) = 0;
  virtual double loss() const = 0;  // so far; NaN: no loss
  // Names lack the prefix "eval_"; "samples" is one of them. `rows`: number of rows added.
  virtual OrderedJson values(int64_t rows) const = 0;
};

struct Examples {
  // --- rows -------------------------------------------------------------------------------
  // Neither rows nor a stream: the split is not needed. Streams have one axis.
  std::optional<ExampleRows> train, eval;
  std::unique_ptr<TextStream> train_stream, eval_stream;
  uint64_t hash = 0;  // hash of the training rows; for a stream, of its files and settings
  // Number of rows of `eval` to evaluate, from the first; the later ones are rows to predict.
  int64_t evaluated = INT64_MAX;
  // The first rows of `eval` run through the evaluation program, this number of them.
  int64_t compared = INT64_MAX;
  int64_t train_rows_read = 0;  // before any selection
  int64_t held_bytes = 0;  // memory besides the rows: images in it, pixels that wait for their step

  // --- functions of steps and evaluations -----------------------------------------------------
  // Fills the inputs of a program, whose tensors give the shape. True: some labels did not fit and
  // need another pass. Allocates nothing. Errors: H0117, H2415 an id that the model lacks.
  std::function<Result<bool>(const CollatedRows& rows, Batch& to)> collate;
  // Fills the inputs of the loss of all rows of a step (JointLoss), but for embeddings and scale.
  std::function<void(const CollatedRows& rows, Batch& to)> collate_joint;
  // The divisor of an optimizer step's loss: label tokens, rows, ... It is known before the first
  // micro-batch, so no split changes it. 0: the step has nothing to learn.
  std::function<int64_t(int64_t step, const StepPlan& plan, const ExampleRows& data,
                        const BatchRows& rows)>
      normaliser;
  // Changes the order of the training rows of an epoch; `step_rows`: number of rows of a step. None: it stays.
  std::function<void(std::span<int64_t> order, int64_t step_rows)> reorder;
  // The index in RunForm::sides of a step's images; set if the form has sides.
  std::function<size_t(int64_t step)> side_of_step = nullptr;
  // Returns empty metrics, for rows from number `first` on.
  std::function<std::unique_ptr<EvalMetrics>(int64_t first)> metrics;
  // Allocates memory that steps reuse; called once before the first step.
  std::function<void(const RunShapes&)> reserve = [](const RunShapes&) {};

  // --- optional functions ---------------------------------------------------------------------
  // Called once when the weights have their first values: of the model that a run starts from, also if
  // it continues from a checkpoint. May evaluate rows.
  std::function<Status(TaskRun&)> opened = [](TaskRun&) { return Ok{}; };
  // Called before the micro-batches of a step, with the rows of all ranks. May evaluate rows.
  std::function<Status(TaskRun&, int64_t step, const BatchRows& rows)> before_step = nullptr;
  // Seconds that collate has waited for data so far.
  std::function<double()> waited_seconds = [] { return 0.0; };
  // Called after a micro-batch of a step, with the outputs of its program.
  std::function<void(const CollatedRows& rows, const Batch& outputs)> after_batch = nullptr;
  // Sums over this rank's rows since the last call, as many on every rank; the values of the sums of
  // all ranks, for the log. Both or none.
  std::function<std::vector<double>()> log_sums = nullptr;
  std::function<OrderedJson(std::span<const double> sums)> log_values = nullptr;
  // Images for the log, made since the last call. None: the task makes no images.
  std::function<LogMedia()> media = nullptr;
  // Returns the metrics of the evaluated rows; empty: a stop was requested.
  std::function<Result<OrderedJson>(TaskRun&)> evaluate;
  // Writes files of predictions into the folder and returns their metrics if there are references.
  std::function<Result<OrderedJson>(TaskRun&, const std::string& folder)> predict;
  // Called after config, weights and tokenizer are in the folder.
  std::function<Status(const std::string& folder)> saved = [](const std::string&) { return Ok{}; };
  // A listener besides those of the settings.
  std::function<std::unique_ptr<TrainCallback>(TaskRun&)> callback;
  // Called after a run that was not stopped.
  std::function<Status(TaskRun&)> ended = [](TaskRun&) { return Ok{}; };
};

}  // namespace hone
