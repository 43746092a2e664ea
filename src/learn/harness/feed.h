// Chooses the rows of each optimizer step and each evaluation, from rows in memory, mapped shards or streams.
#pragma once

#include "learn/data/batches/steps.h"
#include "learn/data/rows/order.h"
#include "learn/harness/examples.h"
#include "learn/harness/settings.h"

namespace hone {

struct TakenRows {
  const ExampleRows* data = nullptr;
  BatchRows rows;  // indices into `data`
};

class RowFeed {
 public:
  // The settings and the examples must outlive the feed. Errors: H2113 the data has no row to train on; H0117 a mapped
  // file was changed.
  static Result<RowFeed> make(const TaskSettings& s, Examples& examples);

  bool evaluates() const { return x_->eval || x_->eval_stream; }  // there are rows to evaluate
  // The number of training rows; for a stream, the rows of max_steps steps.
  int64_t train_rows() const { return train_rows_; }
  const std::optional<StepCount>& steps() const { return steps_; }  // nullopt: no training rows
  bool streams() const { return x_->train_stream || x_->eval_stream; }
  // The facts that decide the order of rows, for the run's fingerprint.
  Json order_effect() const;
  void reserve();  // allocates the memory that steps need, so that no step allocates

  // The rows of optimizer step `step` (from 0), of all ranks. The result is valid until the next call. For streams,
  // call it with ascending steps; the last step may be repeated. Errors: those of the stream; H2113 a stream has fewer
  // rows than one batch and --dataloader_drop_last is set.
  Result<TakenRows> rows_of_step(int64_t step);
  // Appends the indices of the rows of optimizer step `step` to `rows`, in their order, and returns the step's epoch.
  // For tasks that prepare data before a step. Not for streams.
  int64_t append_rows_of(int64_t step, std::vector<int64_t>& rows);
  // Call this if a stop interrupts the step of the last rows_of_step(). data_place() then returns the place before that
  // step.
  void give_up_step() { given_up_ = true; }
  // The place of the next step's rows in the training stream; null if training rows are not streamed.
  Json data_place() const;
  // Continues the training stream at `place`, an earlier result of data_place(). Does nothing if training rows are not
  // streamed. `name`: the checkpoint, for messages. Errors: H2405 `place` is null, because the run of the checkpoint
  // did not stream; those of the stream.
  Status seek(const Json& place, const std::string& name);

  // Starts an evaluation of the rows [begin, end) of Examples::eval. For a stream the range is ignored: the stream is
  // read from its start to its end.
  Status begin_evaluation(int64_t begin, int64_t end);
  // Starts an evaluation of the rows with these indices, which must not be empty, in this order. Not for streams.
  void begin_evaluation(std::vector<int64_t> rows);
  // Number of rows of the evaluation; 0: unknown, because they are streamed.
  int64_t evaluation_rows() const;
  // The next rows of the evaluation, at most `most`; empty after the last row. The result is valid until the next call.
  Result<TakenRows> next_evaluation(int64_t most);

 private:
  RowFeed(const TaskSettings& s, Examples& examples) : s_(&s), x_(&examples) {}
  Status plan_steps(int64_t rows);
  void reorder_epoch(int64_t epoch);

  const TaskSettings* s_;
  Examples* x_;
  int64_t train_rows_ = 0;
  std::optional<StepCount> steps_;
  std::optional<RowOrder> order_;
  // The order of the rows of the current epoch, as Examples::reorder has changed it.
  std::vector<int64_t> epoch_order_;
  int64_t ordered_epoch_ = -1;
  // Rows of the step, or of this part of the evaluation.
  std::vector<int64_t> rows_, eval_rows_;
  ExampleRows stream_rows_, eval_stream_rows_;
  std::vector<int64_t> numbers_, eval_numbers_;  // numbers of these rows in the epoch
  std::vector<int64_t> chosen_rows_;             // of an evaluation; empty: a range
  int64_t evaluated_ = 0, evaluate_from_ = 0, evaluate_to_ = INT64_MAX;
  std::optional<StreamPosition> step_begin_;
  int64_t stream_step_ = -1;  // last step for which rows were read
  bool given_up_ = false;
};

}  // namespace hone
