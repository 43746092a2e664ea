#include "learn/tasks/row_feed.h"

#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/store/store.h"
#include "learn/train/errors.h"

namespace hone {

Status RowFeed::check_ids(std::span<const int32_t> ids) const {
  const auto limit = static_cast<uint32_t>(model_.config.vocab);
  for (const int32_t id : ids)
    if (static_cast<uint32_t>(id) >= limit)
      return Error(err::kNoData,
                   fmt::format("token {} is outside the model's vocabulary of {}", id, limit))
          .todo("use the tokenizer that belongs to the model");
  return Ok{};
}

Status RowFeed::read_text(const TextRows& text) {
  std::vector<std::string> notes;
  const TextFiles files =
      HONE_TRY(text.files(model_, {s_.do_train, s_.do_eval, s_.cache_dir, s_.token}, notes));
  for (const std::string& note : notes) log_info("{:<11} {}", "data", note);
  if (s_.streaming) return open_streams(files, text);
  TextSplits splits = HONE_TRY(load_text(files, text.tokenize(model_, pool_)));
  for (const std::string& note : splits.notes) log_info("{:<11} {}", "data", note);
  std::unique_ptr<TokenRows> train, eval;
  if (s_.do_train) train = std::make_unique<TokenRows>(std::move(splits.train.rows));
  if (s_.do_eval) eval = std::make_unique<TokenRows>(std::move(splits.eval.rows));
  const uint64_t hash = train ? train->hash() : 0;
  return set_rows(std::move(train), std::move(eval), hash);
}

Status RowFeed::set_rows(std::unique_ptr<TokenRows> train, std::unique_ptr<TokenRows> eval,
                         uint64_t hash) {
  for (const TokenRows* rows : {train.get(), eval.get()})
    if (rows && !rows->is_mapped())
      for (int64_t i = 0; i < rows->size(); ++i) HONE_TRY(check_ids(rows->row(i)));
  if (train) {
    train_ = std::move(train);
    hash_ = hash;
    HONE_TRY(train_->check_unchanged());
    HONE_TRY(plan_steps(train_->size()));
    const auto seed = static_cast<uint64_t>(s_.data_seed.value_or(s_.seed));
    order_ = s_.shuffles() ? RowOrder::shuffled(train_->size(), seed)
                           : RowOrder::sequential(train_->size());
  }
  eval_ = std::move(eval);
  return Ok{};
}

Status RowFeed::plan_steps(int64_t rows) {
  train_rows_ = rows;
  StepOptions o{rows,
                s_.per_device_train_batch_size,
                s_.gradient_accumulation_steps,
                s_.num_train_epochs,
                s_.max_steps,
                s_.dataloader_drop_last};
  steps_ = HONE_TRY(StepCount::make(o));
  return Ok{};
}

// Nobody knows how long a stream is: as Transformers does, all steps are one epoch of the log.
Status RowFeed::open_streams(const TextFiles& files, const TextRows& text) {
  if (s_.do_train && s_.max_steps < 1)
    return Error(err::kNoData, "--streaming does not know how many rows there are")
        .todo("say how many steps to train: --max_steps N");
  if (s_.fraction_of_train_data < 1)
    return Error(err::kNoData,
                 "--fraction_of_train_data needs the number of rows, which "
                 "--streaming does not know")
        .todo("take the first rows by --max_train_samples");
  if (!files.shard_settings.is_null())
    return Error(err::kNoData, "prepared shards are mapped, which takes no memory already")
        .todo("leave --streaming out");
  std::vector<std::string> notes;
  const std::vector<TextPart> parts = HONE_TRY(find_parts(files, notes));
  for (const std::string& note : notes) log_info("{:<11} {}", "data", note);
  for (const TextPart& part : parts) {
    const bool train = part.split == "train";
    StreamOptions o;
    o.seed = static_cast<uint64_t>(s_.data_seed.value_or(s_.seed));
    o.shuffle = train && s_.shuffles();
    o.window_rows = o.shuffle ? s_.buffer_size : 1;
    o.max_rows = train ? s_.max_train_samples : s_.max_eval_samples;
    (train ? train_stream_ : eval_stream_) =
        HONE_TRY(TextStream::open(part, text.tokenize(model_, pool_), o));
    OrderedJson sources = OrderedJson::array();
    for (const std::string& file : part.files) {
      const auto bytes = HONE_TRY(file_store().bytes(file));
      sources.push_back(OrderedJson::array({file, bytes}));
    }
    if (train)
      hash_ = fnv1a(sources.dump() + text.shard_settings(model_, part.options, true).dump());
    log_info("{:<11} {}: streamed{}", "data", part.split,
             o.shuffle ? fmt::format(", {} rows at a time in random order", o.window_rows) : "");
  }
  if (s_.do_train)
    HONE_TRY(
        plan_steps(s_.max_steps * s_.per_device_train_batch_size * s_.gradient_accumulation_steps));
  return Ok{};
}

Json RowFeed::order_effect() const {
  const bool leaves_out = s_.dataloader_drop_last &&
                          (train_stream_ || train_rows_ % s_.per_device_train_batch_size != 0);
  Json j{{"seed", s_.shuffles() ? Json(s_.data_seed.value_or(s_.seed)) : Json()},
         {"leaves_out", leaves_out}};
  if (!train_stream_) return j;
  j["window_rows"] = s_.shuffles() ? s_.buffer_size : 1;
  j["first_rows"] = s_.max_train_samples;
  return j;
}

void RowFeed::reserve() {
  if (steps_) rows_.reserve(static_cast<size_t>(steps_->rows_per_step()));
}

Json RowFeed::data_place() const {
  if (!train_stream_) return nullptr;
  return (given_up_ ? *step_begin_ : train_stream_->place()).to_json();
}

Status RowFeed::seek(const Json& place, const std::string& name) {
  if (!train_stream_) return Ok{};
  if (place.is_null())
    return Error(err::kResumeMismatch, "the checkpoint is of a run without --streaming")
        .at(name)
        .todo("continue without --streaming, or give another --output_dir");
  return train_stream_->seek(HONE_TRY(stream_position_from_json(place, name)));
}

Result<TakenRows> RowFeed::rows_of_step(int64_t step) {
  rows_.clear();
  if (!train_stream_) {
    const StepRows at = steps_->rows_of_step(step);
    for (int64_t i = at.begin; i < at.end; ++i) rows_.push_back(order_->index(at.epoch, i));
    return TakenRows{train_.get(), rows_, {}};
  }
  // A step is made again when something in it was not finite.
  if (step == stream_step_) HONE_TRY(train_stream_->seek(*step_begin_));
  stream_step_ = step;
  step_begin_ = train_stream_->place();
  for (int tries = 0; tries < 2 && rows_.empty(); ++tries) {
    if (tries > 0) HONE_TRY(train_stream_->next_epoch());
    HONE_TRY(train_stream_->take(steps_->rows_per_step(), stream_rows_, numbers_));
    auto rows = static_cast<int64_t>(numbers_.size());
    if (s_.dataloader_drop_last) rows -= rows % s_.per_device_train_batch_size;
    for (int64_t i = 0; i < rows; ++i) rows_.push_back(i);
  }
  if (rows_.empty())
    return Error(err::kNoData,
                 "--dataloader_drop_last leaves no row: the data are fewer than one batch")
        .todo("use a smaller --per_device_train_batch_size");
  return TakenRows{&stream_rows_, rows_, numbers_};
}

int64_t RowFeed::evaluation_rows() const {
  return eval_ ? std::min(evaluate_to_, eval_->size()) - evaluate_from_ : 0;
}

Status RowFeed::rewind_evaluation() {
  evaluated_ = evaluate_from_;
  if (eval_stream_) HONE_TRY(eval_stream_->rewind());
  return Ok{};
}

Result<TakenRows> RowFeed::next_evaluation(int64_t most) {
  eval_rows_.clear();
  if (eval_stream_) {
    HONE_TRY(eval_stream_->take(most, eval_stream_rows_, eval_numbers_));
    for (int64_t i = 0; i < eval_stream_rows_.size(); ++i) eval_rows_.push_back(i);
    return TakenRows{&eval_stream_rows_, eval_rows_, eval_numbers_};
  }
  const int64_t end = std::min({evaluated_ + most, evaluate_to_, eval_->size()});
  for (; evaluated_ < end; ++evaluated_) eval_rows_.push_back(evaluated_);
  return TakenRows{eval_.get(), eval_rows_, {}};
}

}  // namespace hone
