#include "learn/harness/feed.h"

#include "learn/data/rows/errors.h"
#include "learn/train/errors.h"

namespace hone {

Result<RowFeed> RowFeed::make(const TaskSettings& s, Examples& examples) {
  RowFeed feed(s, examples);
  feed.stream_rows_.axes.resize(1);
  feed.eval_stream_rows_.axes.resize(1);
  if (examples.train_stream) {
    HONE_TRY(feed.plan_steps(s.max_steps * s.batch_rows() * s.gradient_accumulation_steps));
  } else if (examples.train) {
    for (const TokenRows& rows : examples.train->axes) HONE_TRY(rows.check_unchanged());
    const int64_t rows = examples.train->size();
    HONE_TRY(feed.plan_steps(rows));
    if (examples.reorder) feed.epoch_order_.resize(static_cast<size_t>(rows));
    feed.order_ = s.training_order(rows);
  }
  return feed;
}

// The length of a stream is unknown: as in Transformers, all steps are one epoch of the log.
Status RowFeed::plan_steps(int64_t rows) {
  train_rows_ = rows;
  StepOptions o{
      rows,          s_->batch_rows(),        s_->gradient_accumulation_steps, s_->num_train_epochs,
      s_->max_steps, s_->dataloader_drop_last};
  steps_ = HONE_TRY(StepCount::make(o));
  return Ok{};
}

Json RowFeed::order_effect() const {
  const bool leaves_out =
      s_->dataloader_drop_last && (x_->train_stream || train_rows_ % s_->batch_rows() != 0);
  Json j{{"seed", s_->shuffles() ? Json(s_->data_seed.value_or(s_->seed)) : Json()},
         {"leaves_out", leaves_out}};
  if (!x_->train_stream) return j;
  j["window_rows"] = s_->shuffles() ? s_->buffer_size : 1;
  j["first_rows"] = s_->max_train_samples;
  return j;
}

void RowFeed::reserve() {
  if (steps_) rows_.reserve(static_cast<size_t>(steps_->rows_per_step()));
}

Json RowFeed::data_place() const {
  if (!x_->train_stream) return nullptr;
  return (given_up_ ? *step_begin_ : x_->train_stream->place()).to_json();
}

Status RowFeed::seek(const Json& place, const std::string& name) {
  if (!x_->train_stream) return Ok{};
  if (place.is_null())
    return Error(err::kResumeMismatch, "the checkpoint is of a run without --streaming")
        .at(name)
        .todo("continue without --streaming, or give another --output_dir");
  return x_->train_stream->seek(HONE_TRY(stream_position_from_json(place, name)));
}

void RowFeed::reorder_epoch(int64_t epoch) {
  if (epoch == ordered_epoch_) return;
  for (int64_t i = 0; i < train_rows_; ++i)
    epoch_order_[static_cast<size_t>(i)] = order_->index(epoch, i);
  x_->reorder(epoch_order_, steps_->rows_per_step());
  ordered_epoch_ = epoch;
}

int64_t RowFeed::append_rows_of(int64_t step, std::vector<int64_t>& rows) {
  const StepRows at = steps_->rows_of_step(step);
  if (x_->reorder) reorder_epoch(at.epoch);
  for (int64_t i = at.begin; i < at.end; ++i)
    rows.push_back(x_->reorder ? epoch_order_[static_cast<size_t>(i)] : order_->index(at.epoch, i));
  return at.epoch;
}

Result<TakenRows> RowFeed::rows_of_step(int64_t step) {
  rows_.clear();
  if (!x_->train_stream) {
    append_rows_of(step, rows_);
    return TakenRows{&*x_->train, {rows_, {}}};
  }
  TextStream& stream = *x_->train_stream;
  // A step is repeated if something in it was not finite.
  if (step == stream_step_) HONE_TRY(stream.seek(*step_begin_));
  stream_step_ = step;
  step_begin_ = stream.place();
  for (int tries = 0; tries < 2 && rows_.empty(); ++tries) {
    if (tries > 0) HONE_TRY(stream.next_epoch());
    HONE_TRY(stream.take(steps_->rows_per_step(), stream_rows_.axes[0], numbers_));
    auto rows = static_cast<int64_t>(numbers_.size());
    if (s_->dataloader_drop_last) rows -= rows % s_->batch_rows();
    for (int64_t i = 0; i < rows; ++i) rows_.push_back(i);
  }
  if (rows_.empty())
    return Error(err::kNoRows,
                 "--dataloader_drop_last leaves no row: the data are fewer than one batch")
        .todo("use a smaller --per_device_train_batch_size");
  return TakenRows{&stream_rows_, {rows_, numbers_}};
}

int64_t RowFeed::evaluation_rows() const {
  return x_->eval ? std::min(evaluate_to_, x_->eval->size()) - evaluate_from_ : 0;
}

Status RowFeed::begin_evaluation(int64_t begin, int64_t end) {
  chosen_rows_.clear();
  evaluated_ = evaluate_from_ = begin;
  evaluate_to_ = end;
  if (x_->eval_stream) HONE_TRY(x_->eval_stream->rewind());
  return Ok{};
}

void RowFeed::begin_evaluation(std::vector<int64_t> rows) {
  chosen_rows_ = std::move(rows);
  evaluated_ = evaluate_from_ = 0;
  evaluate_to_ = std::ssize(chosen_rows_);
}

Result<TakenRows> RowFeed::next_evaluation(int64_t most) {
  eval_rows_.clear();
  if (x_->eval_stream) {
    TokenRows& rows = eval_stream_rows_.axes[0];
    HONE_TRY(x_->eval_stream->take(most, rows, eval_numbers_));
    for (int64_t i = 0; i < rows.size(); ++i) eval_rows_.push_back(i);
    return TakenRows{&eval_stream_rows_, {eval_rows_, eval_numbers_}};
  }
  const int64_t end = std::min({evaluated_ + most, evaluate_to_, x_->eval->size()});
  for (; evaluated_ < end; ++evaluated_)
    eval_rows_.push_back(chosen_rows_.empty() ? evaluated_
                                              : chosen_rows_[static_cast<size_t>(evaluated_)]);
  return TakenRows{&*x_->eval, {eval_rows_, {}}};
}

}  // namespace hone
