#include "learn/tasks/mlm.h"

#include <algorithm>

#include "learn/tasks/mlm_programs.h"
#include "learn/tasks/sharded_rows.h"
#include "learn/tasks/task.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

class MlmTask : public TokenTask {
 public:
  explicit MlmTask(const MlmSettings& s) : TokenTask(s), s_(s) {}
  using TokenTask::start;

 private:
  Status read_data() override {
    MaskOptions options = HONE_TRY(mask_options(s_, model_));
    masker_.emplace(std::move(options));
    return feed().read_text(s_);
  }

  int64_t normaliser(int64_t step, const StepPlan&, const TakenRows& taken) override {
    int64_t labels = 0;
    for (const int64_t row : taken.rows)
      labels += masker_->count(step, taken.number(row), taken.data->row(row));
    return labels;
  }

  void reserve(const RunShapes& shapes) override {
    size_t tokens = 0;
    for (const BatchGrid* grid : {&shapes.train, &shapes.eval})
      if (!grid->budgets.empty()) tokens = std::max(tokens, static_cast<size_t>(grid->largest()));
    for (std::vector<int32_t>* v : {&places_, &label_rows_, &labels_, &correct_})
      v->reserve(tokens);
    nll_.reserve(tokens);
  }

  void prepare(int64_t step, MicroBatch& batch) override {
    masker_->mask(step, batch);
    places_.clear();
    for (size_t t = 0; t < batch.labels.size(); ++t)
      if (batch.labels[t] != kIgnoreLabel) places_.push_back(static_cast<int32_t>(t));
  }

  // The labels of pass k are those of places_ from k * M on.
  bool put(size_t program, const MicroBatch& batch, int64_t pass) override {
    const size_t room = session().input<int32_t>(program, "label_rows").size();
    begin_ = room * static_cast<size_t>(pass);
    end_ = std::min(begin_ + room, places_.size());
    label_rows_.assign(room, -1);
    labels_.assign(room, kIgnoreLabel);
    for (size_t i = begin_; i < end_; ++i) {
      label_rows_[i - begin_] = places_[i];
      labels_[i - begin_] = batch.labels[static_cast<size_t>(places_[i])];
    }
    put_input(program, "label_rows", label_rows_);
    put_input(program, "labels", labels_);
    return end_ < places_.size();
  }

  bool labels_fit(const MicroBatch& batch) const override {
    return static_cast<int64_t>(places_.size()) <=
           label_rows_of(static_cast<int64_t>(batch.ids.size()), s_.mlm_probability);
  }

  void begin_metrics() override { metrics_.emplace(s_.per_device_eval_batch_size); }
  bool add_metrics(size_t program, const MicroBatch& batch) override {
    const auto nll = session().output<float>(program, "nll");
    const auto correct = session().output<int32_t>(program, "correct");
    nll_.resize(batch.ids.size());
    correct_.resize(batch.ids.size());
    for (size_t i = begin_; i < end_; ++i) {
      nll_[static_cast<size_t>(places_[i])] = nll[i - begin_];
      correct_[static_cast<size_t>(places_[i])] = correct[i - begin_];
    }
    return end_ < places_.size() || metrics_->add(batch, nll_, correct_);
  }
  double loss_so_far() const override { return metrics_->loss.eval_loss_per_token(); }
  OrderedJson metrics(int64_t rows) override { return metrics_->json(rows); }

  const MlmSettings& s_;
  std::optional<TokenMasker> masker_;
  std::optional<TokenMetrics> metrics_;
  std::vector<int32_t> places_;  // of the micro-batch: its tokens that have a label, ascending
  size_t begin_ = 0, end_ = 0;   // of places_: the labels of the pass
  std::vector<int32_t> label_rows_, labels_;
  std::vector<float> nll_;  // [T], as the next
  std::vector<int32_t> correct_;
};

}  // namespace

Result<MaskOptions> mask_options(const MlmSettings& s, const Pretrained& model) {
  const std::optional<Tokenizer>& tokenizer = model.tokenizer;
  if (!tokenizer || !tokenizer->mask_id())
    return Error(err::kNoData,
                 tokenizer ? fmt::format("the tokenizer of '{}' has no mask token", model.name)
                           : fmt::format("the model '{}' has no tokenizer", model.name))
        .todo("masked language modelling needs a tokenizer with a mask token: --tokenizer_name");
  MaskOptions o;
  o.probability = s.mlm_probability;
  o.seed = static_cast<uint64_t>(s.seed);
  o.mask_id = *tokenizer->mask_id();
  o.vocab = static_cast<int32_t>(std::min(tokenizer->vocab_size(), model.config.vocab));
  o.untouched.resize(static_cast<size_t>(tokenizer->id_limit()));
  // An unknown word is a word of the text.
  for (int32_t id = 0; id < tokenizer->id_limit(); ++id)
    o.untouched[static_cast<size_t>(id)] =
        tokenizer->is_special(id) && tokenizer->unk_id() != id ? 1 : 0;
  return o;
}

void MlmSettings::bind_own(Schema& schema) {
  TextSettings::bind(schema);
  MlmOwnSettings::bind(schema);
}

Status MlmSettings::choose_head(ModelConfig& config) const {
  return set_head(config, Head::masked_lm);
}

int64_t MlmSettings::row_tokens(const ModelConfig& config) const {
  return std::min(max_seq_length > 0 ? max_seq_length : int64_t{1024}, config.max_positions);
}

Program MlmSettings::build(const ModelConfig& config, const BatchShape& shape,
                           const std::string& name, bool train) const {
  const int64_t label_rows =
      shape.all_labels ? shape.tokens : label_rows_of(shape.tokens, mlm_probability);
  return build_mlm(config, shape, label_rows, name, train, label_smoothing_factor);
}

Result<std::unique_ptr<TokenTask>> MlmSettings::open(Pretrained model, bool from_scratch) const {
  auto task = std::make_unique<MlmTask>(*this);
  HONE_TRY(task->start(std::move(model), from_scratch));
  return std::unique_ptr<TokenTask>(std::move(task));
}

Result<TextFiles> MlmSettings::files(const Pretrained& model, const TextWish& wish,
                                     std::vector<std::string>& notes) const {
  TextFiles files = HONE_TRY(named_files(*this, *this, wish, notes));
  files.rows.keep_linebreaks = false;
  files.options.grouping = line_by_line ? Grouping::kRows : Grouping::kBlocks;
  files.options.block_size = row_tokens(model.config);
  if (line_by_line && model.tokenizer)
    files.options.last_kept = model.tokenizer->special_tokens_after();
  if (has_shards(files)) files.shard_settings = shard_settings(model, files.options, false);
  return files;
}

OrderedJson MlmSettings::shard_settings(const Pretrained& model, const TextOptions& causal,
                                        bool all) const {
  OrderedJson j;
  j["task"] = "mlm";
  if (model.tokenizer) j["tokenizer"] = tokenizer_hash(*model.tokenizer);
  add_row_settings(*this, {{"max_seq_length", causal.block_size}}, all, j);
  return j;
}

// Line by line a blank row has no tokens.
Tokenize MlmSettings::tokenize(const Pretrained& model, ThreadPool* pool) const {
  if (!line_by_line || !model.tokenizer) return tokenize_with(model, pool);
  return [&model, pool](std::span<const std::string_view> texts,
                        std::vector<std::vector<int32_t>>& ids) -> Status {
    ids = model.tokenizer->encode_batch(texts, pool);
    for (size_t i = 0; i < ids.size(); ++i)
      if (texts[i].find_first_not_of(" \t\r\n\v\f") == std::string_view::npos) ids[i].clear();
    return Ok{};
  };
}

Task task_mlm() {
  return {.name = "mlm", .summary = "masked language modelling", .settings = [] {
            return std::unique_ptr<TaskSettings>(new MlmSettings);
          }};
}

}  // namespace hone
