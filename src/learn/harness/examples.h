// What a task makes of its data: rows, and the functions that turn them into batches and metrics. A
// task hands these over once, before the first step (Task::examples).
#pragma once

#include <functional>
#include <memory>

#include "learn/data/batches/batch.h"
#include "learn/data/rows/text_stream.h"
#include "learn/harness/batch.h"
#include "learn/train/trainer.h"

namespace hone {

class TaskRun;
struct RunShapes;

// The rows of a split: token ids on each axis of the task's form, as many on each.
struct ExampleRows {
  std::vector<TokenRows> axes;

  ExampleRows() = default;
  explicit ExampleRows(TokenRows rows) { axes.push_back(std::move(rows)); }
  int64_t size() const { return axes[0].size(); }
};

// Where the rows of a run come from.
struct ExampleSource {
  ThreadPool& pool;
  const ExampleRows* rows = nullptr;  // to train on, instead of those that the settings name
};

// The rows of one micro-batch, and what for.
struct CollatedRows {
  static constexpr int64_t kEvaluation = -1;
  const ExampleRows& data;
  BatchRows rows;    // indices into `data`
  int64_t step = 0;  // of training, or kEvaluation
  int64_t pass = 0;  // 0, 1, ... of labels that do not fit one run of the program
  bool training() const { return step != kEvaluation; }
};

// What an evaluation counts.
class EvalMetrics {
 public:
  virtual ~EvalMetrics() = default;
  // The outputs of a program that just ran on these rows. False: what the metrics are made of is
  // not finite.
  virtual bool add(const CollatedRows& rows, const Batch& outputs) = 0;
  virtual double loss() const = 0;  // so far; NaN: there is none
  // Without the prefix "eval_", "samples" among them; `rows` were added.
  virtual OrderedJson values(int64_t rows) const = 0;
};

struct Examples {
  // --- rows -------------------------------------------------------------------------------
  // Not wanted: neither rows nor a stream. Streams have one axis.
  std::optional<ExampleRows> train, eval;
  std::unique_ptr<TextStream> train_stream, eval_stream;
  uint64_t hash = 0;  // of the training rows; for a stream, its files and how rows are made of them
  // The first rows of `eval` that are evaluated; those after them are to be predicted.
  int64_t evaluated = INT64_MAX;
  // The first rows of `eval` that run through the program of evaluation.
  int64_t compared = INT64_MAX;
  int64_t train_rows_read = 0;  // before any selection

  // --- what a step and an evaluation need -----------------------------------------------------
  // Fills the inputs of a program, which say the shape. True: some labels do not fit and want
  // another pass. Allocates nothing. Errors: H0117, H2415 an id that the model does not have.
  std::function<Result<bool>(const CollatedRows& rows, Batch& to)> collate;
  // By what the loss of an optimizer step is divided, known before its first micro-batch so that no
  // split changes it: label tokens, rows, ... 0: there is nothing to learn in it.
  std::function<int64_t(int64_t step, const StepPlan& plan, const ExampleRows& data,
                        const BatchRows& rows)>
      normaliser;
  // Empty metrics, for rows from number `first` on.
  std::function<std::unique_ptr<EvalMetrics>(int64_t first)> metrics;
  // Once before the first step: memory that steps use again.
  std::function<void(const RunShapes&)> reserve = [](const RunShapes&) {};

  // --- what else a run does, where it differs -------------------------------------------------
  // The metrics of the evaluated rows; empty: a stop was requested.
  std::function<Result<OrderedJson>(TaskRun&)> evaluate;
  // Files of predictions into the folder, and their metrics where there are references.
  std::function<Result<OrderedJson>(TaskRun&, const std::string& folder)> predict;
  // After config, weights and tokenizer are in the folder.
  std::function<Status(const std::string& folder)> saved = [](const std::string&) { return Ok{}; };
  // A listener besides those that the settings ask for.
  std::function<std::unique_ptr<TrainCallback>(TaskRun&)> callback;
  // After a run that was not stopped.
  std::function<Status(TaskRun&)> ended = [](TaskRun&) { return Ok{}; };
};

}  // namespace hone
