// Instruction tuning: the answers of chats, or the completions of prompts (trl sft).
#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/check/check_rows.h"
#include "learn/check/row_faults.h"
#include "learn/harness/collate.h"
#include "learn/harness/errors.h"
#include "learn/harness/run/task_run.h"
#include "learn/harness/token_graph.h"
#include "learn/harness/token_metrics.h"
#include "learn/tasks/sft_data.h"

namespace hone {
namespace {

// Data of the rows besides tokens.
struct SftRows {
  std::shared_ptr<const SftSettings> s;
  const ModelConfig& config;
  RowLabels train = {}, eval = {};

  const RowLabels& labels(bool training) const { return training ? train : eval; }

  // The label of a token is the one after it.
  Result<bool> collate(const CollatedRows& rows, Batch& to) const {
    const TokenRows& data = rows.data.axes[0];
    HONE_TRY(collate_tokens(data, rows.rows, kDecoderInputs, to));
    const auto labels = to.get<int32_t>("labels");
    std::fill(labels.begin(), labels.end(), kIgnoreLabel);
    size_t at = 0;
    for (const int64_t row : rows.rows.rows) {
      const auto tags = this->labels(rows.training()).tags_of(data, row);
      if (!tags.empty())
        std::copy(tags.begin() + 1, tags.end(), labels.begin() + static_cast<std::ptrdiff_t>(at));
      at += tags.size();
    }
    HONE_TRY(finish_tokens(config, to));
    return false;
  }
};

class SftMetrics : public EvalMetrics {
 public:
  explicit SftMetrics(std::shared_ptr<const SftRows> of, int64_t first)
      : of_(std::move(of)),
        first_(first),
        counts_(of_->s->per_device_eval_batch_size, of_->s->example_scores.get()) {}

  bool add(const CollatedRows& rows, const Batch& outputs) override {
    const auto nll = outputs.get<const float>("nll");
    const auto correct = outputs.get<const int32_t>("correct");
    const TokenRows& data = rows.data.axes[0];
    bool finite = true;
    size_t at = 0;
    for (const int64_t row : rows.rows.rows) {
      const auto tags = of_->eval.tags_of(data, row);
      losses_.clear(), hits_.clear();
      for (size_t t = 1; t < tags.size(); ++t) {
        if (tags[t] == kIgnoreLabel) continue;
        losses_.push_back(nll[at + t - 1]);
        hits_.push_back(correct[at + t - 1]);
      }
      finite = counts_.add(rows.rows.number(row) - first_, losses_, hits_) && finite;
      at += tags.size();
    }
    return finite;
  }
  double loss() const override { return counts_.loss.eval_loss_per_token(); }
  OrderedJson values(int64_t rows) const override { return token_values(counts_, rows); }

 private:
  std::shared_ptr<const SftRows> of_;
  int64_t first_;
  TokenCounts counts_;
  std::vector<float> losses_;  // of a row
  std::vector<int32_t> hits_;
};

Result<Examples> sft_examples(const std::shared_ptr<SftSettings>& s, Pretrained& model,
                              const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  SftData data = HONE_TRY(read_sft(*s, model, source.pool));
  show_notes(schema_of(*s), data.notes);
  if (s->do_train) model.trained.columns = data.columns;
  const auto rows = std::make_shared<SftRows>(SftRows{s, model.config});
  Examples x;
  if (data.train) {
    x.hash = data.train->data.hash();
    std::optional<LabelledRows> train = std::move(data.train->data);
    rows->train = take_rows(train, x.train);
  }
  if (data.eval) {
    std::optional<LabelledRows> eval = std::move(data.eval->data);
    rows->eval = take_rows(eval, x.eval);
  }
  x.train_rows_read = data.train_rows;
  x.collate = [rows](const CollatedRows& batch, Batch& to) { return rows->collate(batch, to); };
  x.normaliser = [rows](int64_t, const StepPlan&, const ExampleRows& all, const BatchRows& batch) {
    int64_t labels = 0;
    for (const int64_t row : batch.rows)
      labels += learnt_tokens(rows->train.tags_of(all.axes[0], row));
    return labels;
  };
  x.metrics = [rows](int64_t first) { return std::make_unique<SftMetrics>(rows, first); };
  if (!data.chat_template.empty())
    x.saved = [text = data.chat_template](const std::string& folder) {
      return file_store().write(folder + "/chat_template.jinja", text);
    };
  return x;
}

// Rows whose last token is not learnt as the end of an answer: the model would not stop.
void look_at_ends(const SftSplit& split, const Tokenizer& tokenizer, Findings& findings) {
  int64_t without = 0;
  const int64_t rows = split.data.size();
  for (int64_t i = 0; i < rows; ++i) {
    const auto tags = split.data.labels.tags_of(split.data.rows, i);
    bool ends = false;
    for (size_t t = 1; t < tags.size(); ++t)
      ends = ends || (tags[t] != kIgnoreLabel && tokenizer.is_special(tags[t]));
    without += !ends;
  }
  if (without == rows && rows > split.counts.rows_cut)
    findings.add(
        FindingLevel::kWarning, "answers_without_end",
        "train: no answer ends with a special token that is learnt: the model does not learn "
        "to stop",
        "",
        "write the end of a turn inside {% generation %}, or add the end-of-text token to "
        "the tokenizer");
}

RowsReport check_sft(const SftSettings& s, const CheckRequest& request, Findings& findings) {
  const Pretrained& model = request.model;
  RowsReport report;
  const Result<SftData> data = read_sft(s, model, request.pool);
  if (!data.ok()) {
    findings.add(data.error());
    return report;
  }
  request.notes = data->notes;
  const auto look = [&](const std::optional<SftSplit>& split, const std::string& name,
                        SplitReport& to) {
    if (!split) return;
    const TokenRows& rows = split->data.rows;
    to.rows = split->counts.rows_read > 0 ? split->counts.rows_read : rows.size();
    to.sequences = rows.size();
    to.counts.tokens_read = rows.tokens();
    to.counts.rows_cut = split->counts.rows_cut;
    RowFaults faults;
    // Templates write special tokens, which would be odd in other texts: the tokenizer is left out.
    for (int64_t i = 0; i < rows.size(); ++i)
      faults.look_at_ids(rows.row(i), nullptr, model.config.vocab, false, {0, i + 1});
    faults.tell({name, rows.size(), fmt::format("the {} that are kept", s.row_tokens(model.config)),
                 "the rest is cut off: raise --max_length",
                 [&](RowPlace place) { return fmt::format("{} row {}", name, place.line); }},
                findings);
    tell_cut_rows(name, to.counts.rows_cut, to.rows, s.row_tokens(model.config), "max_length",
                  findings);
    if (split->counts.rows_empty > 0)
      findings.add(FindingLevel::kWarning, "rows_without_answer",
                   fmt::format("{}: {} of {} rows are left out: nothing in them is learnt", name,
                               split->counts.rows_empty, to.rows),
                   "", "their answers begin after --max_length: raise it");
  };
  look(data->train, "train", report.train);
  look(data->eval, "validation", report.eval);
  if (!data->train) return report;
  if (model.tokenizer) look_at_ends(*data->train, *model.tokenizer, findings);
  const LabelledRows& rows = data->train->data;
  for (int64_t i = 0; i < std::min(request.samples, rows.size()); ++i) {
    const auto ids = rows.rows.row(i);
    const auto tags = rows.labels.tags_of(rows.rows, i);
    std::vector<int32_t> learnt;
    std::vector<std::string> by_token;
    for (const int32_t tag : tags) {
      const bool learns = tag != kIgnoreLabel;
      if (learns) learnt.push_back(tag);
      by_token.push_back(!learns           ? ""
                         : model.tokenizer ? model.tokenizer->token_of(tag).value_or("")
                                           : std::to_string(tag));
    }
    report.samples.push_back(
        {{ids.begin(), ids.end()},
         {},
         model.tokenizer ? "learnt: " + preview(model.tokenizer->decode(learnt), 80) : "",
         {},
         std::move(by_token)});
  }
  return report;
}

}  // namespace

Task task_sft() {
  const auto s = std::make_shared<SftSettings>();
  Task t;
  t.name = "sft";
  t.summary = "instruction tuning on chats, or on prompts with completions";
  t.sample = SampleProject{.model = tiny_decoder(kChatModelOfHub),
                           .row = [](int i) -> OrderedJson {
                             const SampleSentence s = sample_sentence(i);
                             return {{"prompt", s.prompt()}, {"completion", s.answer()}};
                           },
                           .other_columns = "messages, or instruction and output",
                           .keys = {{"epochs", 60}},
                           .flags = {{"learning_rate", 0.01}, {"max_length", 128}}};
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.choose_head = [s](ModelConfig& config) -> Status {
    if (s->streaming)
      return Error(err::kStreaming, "instruction tuning reads its rows into memory")
          .todo("leave --streaming out");
    return set_head(config, Head::causal_lm);
  };
  t.form = [s](const Pretrained& model) -> Result<RunForm> {
    return RunForm{.limits = {{kTokens, s->row_tokens(model.config), "max_length", s->max_length}}};
  };
  t.program = [s](const auto&... a) { return token_loss_program(a..., s->label_smoothing_factor); };
  t.examples = [s](Pretrained& model, const ExampleSource& source) {
    return sft_examples(s, model, source);
  };
  t.prepared = sft_source(s);
  t.check_rows = [s](const CheckRequest& request, Findings& findings) {
    return check_sft(*s, request, findings);
  };
  return t;
}

}  // namespace hone
