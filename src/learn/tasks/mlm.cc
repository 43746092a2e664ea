// Masked language modelling: tokens that were hidden, from those around them (run_mlm).
#include <algorithm>

#include "learn/harness/budget/programs.h"
#include "learn/harness/collate.h"
#include "learn/harness/run/check_run.h"
#include "learn/harness/token_graph.h"
#include "learn/harness/token_metrics.h"
#include "learn/tasks/mlm_settings.h"

namespace hone {
namespace {

OrderedJson mlm_shard_settings(const MlmSettings& s, const Pretrained& model,
                               const TextOptions& causal, bool all) {
  OrderedJson j;
  j["task"] = "mlm";
  if (model.tokenizer) j["tokenizer"] = tokenizer_hash(*model.tokenizer);
  add_row_settings(schema_of(s), {{"max_seq_length", causal.block_size}}, all, j);
  return j;
}

Result<TextFiles> mlm_files(const MlmSettings& s, const Pretrained& model,
                            const WantedSplits& splits, std::vector<std::string>& notes) {
  TextFiles files = HONE_TRY(named_files(s, s, splits, notes));
  files.only_text_column = s.only_text_column;
  files.rows.keep_linebreaks = false;
  files.options.grouping = s.line_by_line ? Grouping::kRows : Grouping::kBlocks;
  files.options.block_size = s.row_tokens(model.config);
  files.options.block_name = "--max_seq_length";
  files.options.apart_name = "--line_by_line";
  HONE_TRY(check_row_tokens("max_seq_length", files.options.block_size));
  if (s.line_by_line && model.tokenizer)
    files.options.last_kept = model.tokenizer->special_tokens_after();
  if (has_shards(files)) files.shard_settings = mlm_shard_settings(s, model, files.options, false);
  return files;
}

// Line by line a blank row has no tokens.
Tokenize tokenize(const MlmSettings& s, const Pretrained& model, ThreadPool* pool) {
  if (!s.line_by_line || !model.tokenizer) return tokenize_with(model, pool);
  return [&model, pool](std::span<const std::string_view> texts,
                        std::vector<std::vector<int32_t>>& ids) -> Status {
    ids = model.tokenizer->encode_batch(texts, pool);
    for (size_t i = 0; i < ids.size(); ++i)
      if (texts[i].find_first_not_of(" \t\r\n\v\f") == std::string_view::npos) ids[i].clear();
    return Ok{};
  };
}

// Beside the inputs of token_graph.h, for M labels (the axis "labels", or the usual number): the
// head is computed for them alone.
//   label_rows i32[M] (which token; -1: none), labels i32[M] (its true id; -100: none)
//   eval    outputs nll f32[M] (0 without a label), correct i32[M]
Program mlm_program(const MlmSettings& s, const ModelConfig& config, const BatchShape& shape,
                    const std::string& name, bool train) {
  const int64_t labels =
      shape.has(kLabels) ? shape[kLabels] : label_rows_of(shape[kTokens], s.mlm_probability);
  const Type per_label{DType::i32, {labels}};
  TokenGraph g(config, shape, name, train, per_label);
  g.model.label_rows = g.program.add_input("label_rows", per_label);
  return finish_token_loss(g, train, s.label_smoothing_factor);
}

// Masks micro-batches and knows where the labels of the last one are.
class Masks {
 public:
  Masks(MaskOptions options, const ModelConfig& config)
      : masker_(std::move(options)), config_(config) {}

  int64_t count(int64_t step, const ExampleRows& data, const BatchRows& rows) const {
    int64_t labels = 0;
    for (const int64_t row : rows.rows)
      labels += masker_.count(step, rows.number(row), data.axes[0].row(row));
    return labels;
  }

  void reserve(const RunShapes& shapes) {
    size_t tokens = 0;
    for (const BatchGrid* grid : {&shapes.train, &shapes.eval})
      if (!grid->empty()) tokens = std::max(tokens, static_cast<size_t>(grid->largest()[kTokens]));
    places_.reserve(tokens);
    labels_.reserve(tokens);
  }

  // The labels of pass k are those of places_ from k * M on.
  Result<bool> collate(const CollatedRows& rows, Batch& to) {
    const TokenRows& data = rows.data.axes[0];
    HONE_TRY(collate_tokens(data, rows.rows, kDecoderInputs, to));
    const auto ids = to.get<int32_t>("ids");
    labels_.resize(ids.size());
    places_.clear();
    size_t at = 0;
    for (const int64_t row : rows.rows.rows) {
      const auto n = static_cast<size_t>(data.length(row));
      masker_.mask(rows.step, rows.rows.number(row), ids.subspan(at, n),
                   std::span(labels_).subspan(at, n));
      for (size_t t = at; t < at + n; ++t)
        if (labels_[t] != kIgnoreLabel) places_.push_back(static_cast<int32_t>(t));
      at += n;
    }
    HONE_TRY(finish_tokens(config_, to));
    const auto label_rows = to.get<int32_t>("label_rows"), labels = to.get<int32_t>("labels");
    begin_ = label_rows.size() * static_cast<size_t>(rows.pass);
    end_ = std::min(begin_ + label_rows.size(), places_.size());
    std::fill(label_rows.begin(), label_rows.end(), -1);
    std::fill(labels.begin(), labels.end(), kIgnoreLabel);
    for (size_t i = begin_; i < end_; ++i) {
      label_rows[i - begin_] = places_[i];
      labels[i - begin_] = labels_[static_cast<size_t>(places_[i])];
    }
    return end_ < places_.size();
  }

  // The last micro-batch: its tokens that have a label, ascending; those of the last pass.
  const std::vector<int32_t>& places() const { return places_; }
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }

 private:
  TokenMasker masker_;
  const ModelConfig& config_;
  std::vector<int32_t> places_, labels_;  // labels [T]
  size_t begin_ = 0, end_ = 0;
};

class MlmMetrics : public EvalMetrics {
 public:
  MlmMetrics(const MlmSettings& s, std::shared_ptr<const Masks> masks)
      : counts_(s.per_device_eval_batch_size, s.example_scores.get()), masks_(std::move(masks)) {}

  bool add(const CollatedRows& rows, const Batch& outputs) override {
    const auto nll = outputs.get<const float>("nll");
    const auto correct = outputs.get<const int32_t>("correct");
    const std::vector<int32_t>& places = masks_->places();
    nll_.resize(places.size());
    correct_.resize(places.size());
    const size_t begin = masks_->begin(), end = masks_->end();
    std::copy_n(nll.begin(), end - begin, nll_.begin() + static_cast<std::ptrdiff_t>(begin));
    std::copy_n(correct.begin(), end - begin,
                correct_.begin() + static_cast<std::ptrdiff_t>(begin));
    if (end < places.size()) return true;  // another pass follows
    bool finite = true;
    size_t first = 0;
    int64_t tokens = 0;
    for (const int64_t row : rows.rows.rows) {
      tokens += rows.data.axes[0].length(row);
      size_t last = first;
      while (last < places.size() && places[last] < tokens) ++last;
      finite = counts_.add(rows.rows.number(row), std::span(nll_).subspan(first, last - first),
                           std::span(correct_).subspan(first, last - first)) &&
               finite;
      first = last;
    }
    return finite;
  }
  double loss() const override { return counts_.loss.eval_loss_per_token(); }
  OrderedJson values(int64_t rows) const override { return token_values(counts_, rows); }

 private:
  TokenCounts counts_;
  std::shared_ptr<const Masks> masks_;
  std::vector<float> nll_;  // by place, as the next
  std::vector<int32_t> correct_;
};

Result<Examples> mlm_examples(const std::shared_ptr<MlmSettings>& s, const TextSource& text,
                              Pretrained& model, const ExampleSource& source) {
  MaskOptions options = HONE_TRY(mask_options(*s, model));
  const auto masks = std::make_shared<Masks>(std::move(options), model.config);
  Examples x = HONE_TRY(read_texts(*s, text, model, source));
  x.collate = [masks](const CollatedRows& rows, Batch& to) { return masks->collate(rows, to); };
  x.normaliser = [masks](int64_t step, const StepPlan&, const ExampleRows& data,
                         const BatchRows& rows) { return masks->count(step, data, rows); };
  x.metrics = [s, masks](int64_t) { return std::make_unique<MlmMetrics>(*s, masks); };
  x.reserve = [masks](const RunShapes& shapes) { masks->reserve(shapes); };
  return x;
}

// The samples as training sees them, which the first step would hide.
RowsReport check_mlm(const MlmSettings& s, const TextSource& text, const CheckRequest& r,
                     Findings& findings) {
  RowsReport report = check_texts(s, text, r, findings);
  Result<MaskOptions> options = mask_options(s, r.model);
  if (!options.ok()) {
    findings.add(options.error());
    return report;
  }
  const TokenMasker masker(std::move(*options));
  int64_t number = 0;
  for (SampleRow& row : report.samples) {
    row.labels.resize(row.ids.size());
    masker.mask(1, number++, row.ids, row.labels);
  }
  return report;
}

}  // namespace

Task mlm_task(std::shared_ptr<MlmSettings> s) {
  Task t;
  t.name = "mlm";
  t.summary = "masked language modelling";
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.sample = SampleProject{.model = tiny_encoder(),
                           .row = [](int i) -> OrderedJson {
                             return {{"text", sample_sentence(i).text()}};
                           },
                           .flags = {{"max_seq_length", 64}}};
  t.choose_head = [](ModelConfig& config) { return set_head(config, Head::masked_lm); };
  t.form = [s](const Pretrained& model) -> Result<RunForm> {
    return RunForm{
        .limits = {{kTokens, s->row_tokens(model.config), "max_seq_length", s->max_seq_length}},
        .packs_rows = s->line_by_line,
        .labels_vary = true};
  };
  t.program = [s](const auto&... a) { return mlm_program(*s, a...); };
  t.text = TextSource{
      .files = [s](const Pretrained& model, const WantedSplits& splits,
                   std::vector<std::string>& notes) { return mlm_files(*s, model, splits, notes); },
      .shard_settings = [s](const auto&... a) { return mlm_shard_settings(*s, a...); },
      .tokenize = [s](const Pretrained& model,
                      ThreadPool* pool) { return tokenize(*s, model, pool); },
      .apart = "line_by_line"};
  t.resizes_embeddings = true;
  t.examples = [s, text = *t.text](Pretrained& model, const ExampleSource& source) {
    return mlm_examples(s, text, model, source);
  };
  t.check_rows = [s, text = *t.text](const CheckRequest& r, Findings& findings) {
    return check_mlm(*s, text, r, findings);
  };
  return t;
}

Task task_mlm() { return mlm_task(std::make_shared<MlmSettings>()); }

}  // namespace hone
