// Classification of the words of a text: names, parts of speech (run_ner).
#include <algorithm>
#include <cmath>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/check/check_rows.h"
#include "learn/check/row_faults.h"
#include "learn/data/batches/labelled_batch.h"
#include "learn/harness/collate.h"
#include "learn/harness/errors.h"
#include "learn/harness/example_scores.h"
#include "learn/harness/run/task_run.h"
#include "learn/harness/token_graph.h"
#include "learn/metrics/loss.h"
#include "learn/metrics/metric.h"
#include "learn/tasks/ner_data.h"

namespace hone {
namespace {

// --- programs -----------------------------------------------------------------------------------

// Inputs: token_graph.h, with labels i32[T] (-100: none). Training gives loss; evaluation gives
// logits f32[T, labels] and does not read labels.
Program ner_program(const NerSettings& s, const ModelConfig& config, const BatchShape& shape,
                    const std::string& name, bool train) {
  TokenGraph g(config, shape, name, train, {DType::i32, {shape[kTokens]}});
  if (train) return finish_token_loss(g, true, s.label_smoothing_factor);
  const HeadLayer layer = model_head(g.model);
  g.program.outputs.push_back({"logits", logits_of(g.b, layer)});
  return std::move(g.program);
}

// --- metrics ------------------------------------------------------------------------------------

// Data of the rows besides tokens.
struct NerLabels {
  std::shared_ptr<const NerSettings> s;
  const ModelConfig& config;
  std::vector<std::string> names;  // of the classes, without spaces
  RowLabels train = {}, eval = {};
  int64_t evaluated = 0;  // rows of `eval`; the others are predicted
  bool test_tagged = true;

  Result<bool> collate(const CollatedRows& rows, Batch& to) const {
    const TokenRows& data = rows.data.axes[0];
    HONE_TRY(collate_tokens(data, rows.rows, kDecoderInputs, to));
    if (rows.training()) fill_labels(data, train, rows.rows, {.tags = to.get<int32_t>("labels")});
    HONE_TRY(finish_tokens(config, to));
    return false;
  }

  int64_t count(const ExampleRows& data, const BatchRows& rows) const {
    int64_t labels = 0;
    for (const int64_t row : rows.rows) {
      const auto tags = train.tags_of(data.axes[0], row);
      labels +=
          static_cast<int64_t>(tags.size()) - std::count(tags.begin(), tags.end(), kIgnoreLabel);
    }
    return labels;
  }
};

class NerEvaluation : public EvalMetrics {
 public:
  // `lines` gets what is predicted for the words of each row from `first` on.
  NerEvaluation(std::shared_ptr<const NerLabels> labels, int64_t first,
                std::vector<std::string>* lines = nullptr)
      : labels_(std::move(labels)),
        first_(first),
        lines_(lines),
        loss_(labels_->s->per_device_eval_batch_size) {
    auto metric = make_metric("seqeval");
    HONE_BUG_IF(!metric.ok(), "{}", metric.error().text());
    metric_ = std::move(*metric);
  }

  bool add(const CollatedRows& rows, const Batch& outputs) override {
    const auto logits = outputs.get<const float>("logits");
    const auto count = static_cast<size_t>(labels_->config.labels);
    size_t token = 0;
    for (const int64_t row : rows.rows.rows) {
      const auto tags = labels_->eval.tags_of(rows.data.axes[0], row);
      std::string predicted, expected;
      double nll = 0;
      int64_t words = 0;
      for (size_t t = 0; t < tags.size(); ++t, ++token) {
        if (tags[t] == kIgnoreLabel) continue;
        const auto of_token = logits.subspan(token * count, count);
        const auto best = static_cast<size_t>(predicted_class(of_token));
        nll += cross_entropy(of_token, static_cast<size_t>(tags[t]),
                             labels_->s->label_smoothing_factor);
        predicted += (words > 0 ? " " : "") + labels_->names[best];
        expected += (words > 0 ? " " : "") + labels_->names[static_cast<size_t>(tags[t])];
        ++words;
      }
      if (!std::isfinite(nll)) return false;
      loss_.add(rows.rows.number(row) - first_, nll, words);
      if (ExampleScores* examples = labels_->s->example_scores.get())
        examples->add(row - first_, {{"prediction", predicted},
                                     {"reference", expected},
                                     {"scores", {{"nll", nll}, {"tokens", words}}}});
      const std::string_view reference = expected;
      metric_->add_text(predicted, std::span(&reference, 1));
      if (lines_) (*lines_)[static_cast<size_t>(row - first_)] = std::move(predicted);
    }
    return true;
  }
  double loss() const override { return loss_.eval_loss_per_token(); }
  OrderedJson values(int64_t rows) const override {
    const auto got = metric_->values();
    HONE_BUG_IF(!got.ok(), "{}", got.error().text());
    OrderedJson out;
    const bool by_type = labels_->s->return_entity_level_metrics;
    const OrderedJson types = metric_->details();
    if (by_type)
      for (const auto& [type, values] : types.items())
        for (const auto& [name, value] : values.items()) out[type + "_" + name] = value;
    for (const MetricValue& v : *got) out[(by_type ? "overall_" : "") + v.name] = v.value;
    out["loss"] = loss_.eval_loss();
    out["samples"] = rows;
    return out;
  }

 private:
  std::shared_ptr<const NerLabels> labels_;
  int64_t first_;
  std::vector<std::string>* lines_;
  EvalLoss loss_;
  std::unique_ptr<Metric> metric_;
};

// predictions.txt as run_ner writes it.
Result<OrderedJson> predict_ner(const std::shared_ptr<const NerLabels>& labels, TaskRun& run,
                                const std::string& folder) {
  const int64_t begin = labels->evaluated, end = run.examples().eval->size();
  std::vector<std::string> lines(static_cast<size_t>(end - begin));
  NerEvaluation evaluation(labels, begin, &lines);
  const int64_t rows = HONE_TRY(run.evaluate_rows(begin, end, evaluation));
  if (rows < 0) return OrderedJson::object();  // stopped
  const std::string file = folder + "/predictions.txt";
  if (run.ranks().leads())
    HONE_TRY(file_store().write(file, fmt::format("{}\n", join(lines, "\n"))));
  log_info("{:<11} {}", "predicted", file);
  return labels->test_tagged ? evaluation.values(rows) : OrderedJson::object();
}

// --- the task -----------------------------------------------------------------------------------

Result<Examples> ner_examples(const std::shared_ptr<NerSettings>& s, Pretrained& model,
                              const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  NerData data = HONE_TRY(read_ner(*s, model, source.pool));
  model.tokenizer = data.tokenizer;
  show_notes(schema_of(*s), data.notes);
  HONE_TRY(set_head(model.config, Head::token_classification, data.map.names));
  const auto labels = std::make_shared<NerLabels>(NerLabels{s, model.config, data.map.names});
  for (std::string& name : labels->names) std::replace(name.begin(), name.end(), ' ', '_');
  labels->evaluated = data.evaluated;
  labels->test_tagged = data.test_tagged;
  Examples x;
  if (data.train) x.hash = data.train->hash();
  labels->train = take_rows(data.train, x.train);
  labels->eval = take_rows(data.eval, x.eval);
  x.evaluated = data.evaluated;
  x.train_rows_read = data.train_rows;
  x.collate = [labels](const CollatedRows& rows, Batch& to) { return labels->collate(rows, to); };
  x.normaliser = [labels](int64_t, const StepPlan&, const ExampleRows& rows,
                          const BatchRows& batch) { return labels->count(rows, batch); };
  x.metrics = [labels](int64_t first) { return std::make_unique<NerEvaluation>(labels, first); };
  x.predict = [labels](TaskRun& run, const std::string& folder) {
    return predict_ner(labels, run, folder);
  };
  return x;
}

RowsReport check_ner(const NerSettings& s, const CheckRequest& request, Findings& findings) {
  const Pretrained& model = request.model;
  RowsReport report;
  const Result<NerData> data = read_ner(s, model, request.pool);
  if (!data.ok()) {
    findings.add(data.error());
    return report;
  }
  request.notes = data->notes;
  const auto look = [&](const std::optional<LabelledRows>& rows, const LabelCounts& counts,
                        const std::string& split, SplitReport& to) {
    if (!rows) return;
    to.sequences = rows->size();
    to.rows = std::max(counts.rows_read, to.sequences);
    to.counts.tokens_read = counts.tokens;
    to.counts.rows_cut = counts.rows_cut;
    RowFaults faults;
    for (int64_t i = 0; i < rows->size(); ++i)
      faults.look_at_ids(rows->rows.row(i), model.tokenizer ? &*model.tokenizer : nullptr,
                         model.config.vocab, false, {0, i + 1});
    faults.tell(
        {split, rows->size(), fmt::format("the {} that are kept", s.row_tokens(model.config)),
         "the rest is cut off: raise --max_seq_length",
         [&](RowPlace place) { return fmt::format("{} row {}", split, place.line); }},
        findings);
    tell_cut_rows(split, counts.rows_cut, to.rows, s.row_tokens(model.config), "max_seq_length",
                  findings);
  };
  look(data->train, data->train_counts, "train", report.train);
  look(data->eval, data->eval_counts, "validation", report.eval);
  if (!data->train) return report;
  std::vector<bool> learnt(data->map.names.size());
  for (const int32_t tag : data->train->labels.tags)
    if (tag != kIgnoreLabel) learnt[static_cast<size_t>(tag)] = true;
  for (size_t i = 0; i < learnt.size(); ++i)
    if (!learnt[i])
      findings.add(FindingLevel::kWarning, "label_without_rows",
                   fmt::format("train: no word has the label {}", preview(data->map.names[i], 40)),
                   "", "the model will not learn it: give rows of it, or check the labels");
  for (int64_t i = 0; i < std::min(request.samples, data->train->size()); ++i) {
    const auto ids = data->train->rows.row(i);
    const auto tags = data->train->labels.tags_of(data->train->rows, i);
    std::string names;
    std::vector<std::string> by_token;
    for (const int32_t tag : tags) {
      by_token.push_back(tag == kIgnoreLabel ? "" : data->map.names[static_cast<size_t>(tag)]);
      if (tag != kIgnoreLabel) names += (names.empty() ? "" : " ") + by_token.back();
    }
    report.samples.push_back(
        {{ids.begin(), ids.end()}, {}, preview(names, 80), {}, std::move(by_token)});
  }
  return report;
}

// "The ferry to the old town leaves at nine": the place and the time have labels.
OrderedJson sample_tags(int i) {
  const SampleSentence s = sample_sentence(i);
  OrderedJson words = OrderedJson::array(), tags = OrderedJson::array();
  const auto add = [&](const std::string& text, const std::string& label) {
    bool first = true;
    for (const std::string& word : split(text, ' ')) {
      words.push_back(word);
      tags.push_back(label.empty() ? "O" : (first ? "B-" : "I-") + label);
      first = false;
    }
  };
  add("The ferry to", "");
  add(s.place, "LOC");
  add("leaves at", "");
  add(s.time, "TIME");
  return {{"tokens", words}, {"ner_tags", tags}};
}

}  // namespace

Task task_ner() {
  const auto s = std::make_shared<NerSettings>();
  Task t;
  t.name = "ner";
  t.summary = "a label for each word of a text, such as names";
  t.metric = "f1";
  t.metrics = [] { return std::vector<std::string>{"f1", "precision", "recall", "loss"}; };
  t.sample = SampleProject{
      .model = tiny_encoder(), .row = sample_tags, .flags = {{"max_seq_length", 128}}};
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.choose_head = [s](ModelConfig& config) -> Status {
    if (s->streaming)
      return Error(err::kStreaming, "token classification reads its rows into memory")
          .todo("leave --streaming out");
    return set_head(config, Head::token_classification, config_labels(config));
  };
  t.form = [s](const Pretrained& model) -> Result<RunForm> {
    return RunForm{
        .limits = {{kTokens, s->row_tokens(model.config), "max_seq_length", s->max_seq_length}},
        .replaces_head = s->ignore_mismatched_sizes};
  };
  t.program = [s](const auto&... a) { return ner_program(*s, a...); };
  t.examples = [s](Pretrained& model, const ExampleSource& source) {
    return ner_examples(s, model, source);
  };
  t.prepared = ner_source(s);
  t.predicts = true;
  t.check_rows = [s](const CheckRequest& request, Findings& findings) {
    return check_ner(*s, request, findings);
  };
  return t;
}

}  // namespace hone
