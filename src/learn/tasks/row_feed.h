// Which rows of token ids each optimizer step and each evaluation of a run takes: out of memory,
// out of mapped shards, or out of streams.
#pragma once

#include "learn/data/batches/steps.h"
#include "learn/data/rows/order.h"
#include "learn/data/rows/text_stream.h"
#include "learn/tasks/text_rows.h"

namespace hone {

// Some rows of `data`, by their indices there.
struct TakenRows {
  const TokenRows* data = nullptr;
  std::span<const int64_t> rows;
  // Numbers of data's rows in the epoch, if they are not the indices (streams); empty: the indices.
  std::span<const int64_t> numbers;
  int64_t number(int64_t row) const {
    return numbers.empty() ? row : numbers[static_cast<size_t>(row)];
  }
};

class RowFeed {
 public:
  // The settings, the model and the pool must outlive the feed.
  RowFeed(const TaskSettings& s, const Pretrained& model, ThreadPool* pool)
      : s_(s), model_(model), pool_(pool) {}

  // Once, one of the two. Text from the files of the settings, into memory or, with --streaming, as
  // it is needed; notes go to the log.
  Status read_text(const TextRows& text);
  // Rows that the task made itself; null: not wanted. `hash` is of the training data.
  Status set_rows(std::unique_ptr<TokenRows> train, std::unique_ptr<TokenRows> eval, uint64_t hash);

  bool evaluates() const { return eval_ || eval_stream_; }
  const TokenRows* train() const { return train_.get(); }  // null: streamed or not wanted
  const TokenRows* eval() const { return eval_.get(); }
  int64_t train_rows() const { return train_rows_; }
  const std::optional<StepCount>& steps() const { return steps_; }
  // The training rows; for a stream, its files and how rows are made from them.
  uint64_t hash() const { return hash_; }
  bool streams() const { return train_stream_ || eval_stream_; }
  // In which order steps take rows, as a fingerprint has it.
  Json order_effect() const;
  void reserve();  // so that no step allocates

  // Valid until the next call.
  Result<TakenRows> rows_of_step(int64_t step);
  void give_up_step() { given_up_ = true; }  // a stop came: data_place() is before it
  Json data_place() const;
  Status seek(const Json& place, const std::string& name);

  // Evaluation is of these rows alone (default: all); not of streams.
  void evaluate_rows(int64_t begin, int64_t end) { evaluate_from_ = begin, evaluate_to_ = end; }
  int64_t evaluation_rows() const;  // 0: not known
  // From the first row of evaluation, `most` at a time; none at the end.
  Status rewind_evaluation();
  Result<TakenRows> next_evaluation(int64_t most);

  // H2404 when a token is outside the model's vocabulary.
  Status check_ids(std::span<const int32_t> ids) const;

 private:
  Status open_streams(const TextFiles& files, const TextRows& text);
  Status plan_steps(int64_t rows);

  const TaskSettings& s_;
  const Pretrained& model_;
  ThreadPool* pool_;
  std::unique_ptr<TokenRows> train_, eval_;
  std::unique_ptr<TextStream> train_stream_, eval_stream_;  // with --streaming, instead
  int64_t train_rows_ = 0;
  std::optional<StepCount> steps_;
  std::optional<RowOrder> order_;
  uint64_t hash_ = 0;
  // Rows of the step, or of this part of the evaluation.
  std::vector<int64_t> rows_, eval_rows_;
  TokenRows stream_rows_, eval_stream_rows_;
  std::vector<int64_t> numbers_, eval_numbers_;  // of these, in the epoch
  int64_t evaluated_ = 0, evaluate_from_ = 0, evaluate_to_ = INT64_MAX;
  std::optional<StreamPosition> step_begin_;
  int64_t stream_step_ = -1;  // the step that rows were read for last
  bool given_up_ = false;
};

}  // namespace hone
