// Chooses the rows of each optimizer step and each evaluation: from memory, mapped shards or
// streams.
#pragma once

#include "learn/data/batches/steps.h"
#include "learn/data/rows/order.h"
#include "learn/harness/examples.h"
#include "learn/harness/settings.h"

namespace hone {

// Some rows of `data`.
struct TakenRows {
  const ExampleRows* data = nullptr;
  BatchRows rows;
};

class RowFeed {
 public:
  // The settings and the examples must outlive the feed, which reads their streams. Errors: H2113
  // no row to train on, H0117 a mapped file changed.
  static Result<RowFeed> make(const TaskSettings& s, Examples& examples);

  bool evaluates() const { return x_->eval || x_->eval_stream; }
  int64_t train_rows() const { return train_rows_; }
  const std::optional<StepCount>& steps() const { return steps_; }
  bool streams() const { return x_->train_stream || x_->eval_stream; }
  // The order of rows, for the fingerprint.
  Json order_effect() const;
  void reserve();  // after it no step allocates

  // The rows of all ranks. Valid until the next call.
  Result<TakenRows> rows_of_step(int64_t step);
  // Appends the rows of a step of rows in memory, in their order; returns their epoch. For data that are made ready
  // before their step.
  int64_t append_rows_of(int64_t step, std::vector<int64_t>& rows);
  void give_up_step() { given_up_ = true; }  // a stop came: data_place() stays before the step
  Json data_place() const;
  // Errors: H2405 if the checkpoint's run did not stream.
  Status seek(const Json& place, const std::string& name);

  // Starts an evaluation of rows [begin, end); streams are read from start to end.
  Status begin_evaluation(int64_t begin, int64_t end);
  // Starts one of these rows in memory, in this order.
  void begin_evaluation(std::vector<int64_t> rows);
  int64_t evaluation_rows() const;  // 0: unknown
  // The next rows, at most `most`; none at the end.
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
  // The order that Examples::reorder makes, of the epoch that steps are in.
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
