// Classification of texts and pairs of texts, or a number for each (run_glue).
#include <algorithm>
#include <cmath>

#include "base/core/log.h"
#include "base/store/store.h"
#include "learn/data/batches/labelled_batch.h"
#include "learn/harness/collate.h"
#include "learn/harness/errors.h"
#include "learn/harness/example_scores.h"
#include "learn/harness/run/task_run.h"
#include "learn/harness/token_graph.h"
#include "learn/tasks/classification_check.h"
#include "learn/tasks/classification_data.h"
#include "learn/tasks/classification_metrics.h"

namespace hone {
namespace {

bool is_regression(const ModelConfig& config) { return config.labels == 1; }

bool has_token_types(const ModelConfig& config) {
  const auto types = config.integer("type_vocab_size", 0);
  return types.ok() && *types > 1;
}

// Inputs beside those of token_graph.h: token_types i32[T] for models that have them; labels i32[S]
// (-100: no row), or where the model has one label, which makes it a regression, labels and weight
// f32[S] (0: no row). Evaluation gives logits f32[S, labels] and does not read labels.
Program classification_program(const ClassificationSettings& s, const ModelConfig& config,
                               const BatchShape& shape, const std::string& name, bool train) {
  const bool regression = is_regression(config);
  const int64_t sequences = shape[kSequences];
  TokenGraph g(config, shape, name, train, {regression ? DType::f32 : DType::i32, {sequences}});
  if (has_token_types(config))
    g.model.token_types = g.program.add_input("token_types", {DType::i32, {shape[kTokens]}});
  const HeadLayer layer = model_head(g.model);
  Builder::Scope head(g.b, "head");
  const auto output = [&](const char* what, ValueId value) {
    g.program.outputs.push_back({what, value});
    return std::move(g.program);
  };
  if (train && !regression)
    return output("loss", ops::linear_cross_entropy(g.b, layer.x, layer.weight, g.labels, g.scale,
                                                    true, s.label_smoothing_factor, layer.bias)
                              .loss);
  const ValueId logits =
      ops::linear(g.b, layer.x, layer.weight, {.bias = layer.bias, .trans_w = true});  // [S,labels]
  if (!train) return output("logits", logits);
  const ValueId weight = g.program.add_input("weight", {DType::f32, {sequences}});
  const ValueId off =
      ops::mul(g.b, ops::sub(g.b, ops::reshape(g.b, logits, {sequences}), g.labels), weight);
  return output("loss", ops::mul(g.b, ops::reduce_sum(g.b, ops::mul(g.b, off, off), {0}), g.scale));
}

// Data of the rows besides tokens.
struct ClassificationLabels {
  std::shared_ptr<const ClassificationSettings> s;
  const ModelConfig& config;
  RowLabels train = {}, eval = {};
  // Rows of evaluation, kind by kind.
  int64_t matched = 0, mismatched = 0, test = 0, test_mismatched = 0;

  int64_t evaluated() const { return matched + mismatched; }

  Result<bool> collate(const CollatedRows& rows, Batch& to) const {
    const TokenRows& data = rows.data.axes[0];
    HONE_TRY(collate_tokens(data, rows.rows, kDecoderInputs, to));
    LabelInputs inputs{.token_types = to.get_if<int32_t>("token_types")};
    if (rows.training() && is_regression(config))
      inputs.values = to.get<float>("labels"), inputs.weight = to.get<float>("weight");
    else if (rows.training())
      inputs.classes = to.get<int32_t>("labels");
    fill_labels(data, rows.training() ? train : eval, rows.rows, inputs);
    HONE_TRY(finish_tokens(config, to));
    return false;
  }
};

class ClassificationEvaluation : public EvalMetrics {
 public:
  // `predictions` gets those of the rows after the evaluated ones: values, or numbers of classes.
  ClassificationEvaluation(std::shared_ptr<const ClassificationLabels> labels,
                           std::vector<float>* predictions)
      : labels_(std::move(labels)),
        matched_(metrics()),
        mismatched_(metrics()),
        predictions_(predictions) {}

  bool add(const CollatedRows& rows, const Batch& outputs) override {
    const auto logits = outputs.get<const float>("logits");
    const auto count = static_cast<size_t>(labels_->config.labels);
    for (size_t q = 0; q < rows.rows.rows.size(); ++q) {
      const int64_t row = rows.rows.rows[q];
      const auto of_row = logits.subspan(q * count, count);
      if (!std::all_of(of_row.begin(), of_row.end(), [](float x) { return std::isfinite(x); }))
        return false;
      if (const int64_t begin = labels_->evaluated(); row >= begin) {
        (*predictions_)[static_cast<size_t>(row - begin)] =
            count == 1 ? of_row[0] : static_cast<float>(predicted_class(of_row));
        continue;
      }
      add_example(row, of_row);
      ClassificationMetrics& m = row < labels_->matched ? matched_ : mismatched_;
      const int64_t number = row < labels_->matched ? row : row - labels_->matched;
      if (is_regression(labels_->config))
        m.add(number, of_row[0], labels_->eval.values[static_cast<size_t>(row)]);
      else
        m.add(number, of_row, labels_->eval.classes[static_cast<size_t>(row)]);
    }
    return true;
  }
  double loss() const override { return matched_.loss(); }
  OrderedJson values(int64_t rows) const override {
    if (matched_.rows() == 0) return {{"samples", rows}};  // predicted, not evaluated
    OrderedJson out = matched_.values("");
    out["samples"] = labels_->matched;
    if (labels_->mismatched == 0) return out;
    const OrderedJson more = mismatched_.values("_mm");
    for (const auto& [name, value] : more.items()) out[name] = value;
    out["samples_mm"] = labels_->mismatched;
    return out;
  }

 private:
  // The prediction by name, or the number, beside what was wanted.
  void add_example(int64_t row, std::span<const float> logits) const {
    ExampleScores* examples = labels_->s->example_scores.get();
    if (examples == nullptr) return;
    const auto at = static_cast<size_t>(row);
    if (is_regression(labels_->config)) {
      const double predicted = static_cast<double>(logits[0]),
                   wanted = static_cast<double>(labels_->eval.values[at]);
      examples->add(row, {{"prediction", predicted},
                          {"reference", wanted},
                          {"scores", {{"mse", (predicted - wanted) * (predicted - wanted)}}}});
      return;
    }
    const int64_t best = predicted_class(logits), wanted = labels_->eval.classes[at];
    const Json& names = labels_->config.config["id2label"];
    const auto name = [&](int64_t i) { return names[std::to_string(i)].get<std::string>(); };
    examples->add(row, {{"prediction", name(best)},
                        {"reference", name(wanted)},
                        {"scores",
                         {{"accuracy", best == wanted ? 1 : 0},
                          {"nll", cross_entropy(logits, static_cast<size_t>(wanted), 0)},
                          {"tokens", 1}}}});
  }

  ClassificationMetrics metrics() const {
    const ClassificationSettings& s = *labels_->s;
    return {s.task_name, is_regression(labels_->config), s.per_device_eval_batch_size,
            s.label_smoothing_factor};
  }

  std::shared_ptr<const ClassificationLabels> labels_;
  ClassificationMetrics matched_, mismatched_;
  std::vector<float>* predictions_;
};

// predict_results_<task>.txt as run_glue writes it, and of mnli predict_results_mnli-mm.txt.
Result<OrderedJson> predict_classification(
    const std::shared_ptr<const ClassificationLabels>& labels, TaskRun& run,
    const std::string& folder) {
  const int64_t begin = labels->evaluated(), test = labels->test,
                all = test + labels->test_mismatched;
  std::vector<float> predictions(static_cast<size_t>(all));
  ClassificationEvaluation evaluation(labels, &predictions);
  if (HONE_TRY(run.evaluate_rows(begin, begin + all, evaluation)) < 0)
    return OrderedJson::object();  // stopped
  if (!run.ranks().leads()) return OrderedJson::object();
  const Json& names = labels->config.config["id2label"];
  const auto write = [&](const std::string& task, int64_t first, int64_t end) {
    std::string text = "index\tprediction\n";
    for (int64_t i = first; i < end; ++i) {
      const float x = predictions[static_cast<size_t>(i)];
      text += is_regression(labels->config)
                  ? fmt::format("{}\t{:.3f}\n", i - first, x)
                  : fmt::format("{}\t{}\n", i - first,
                                names[std::to_string(static_cast<int64_t>(x))].get<std::string>());
    }
    const std::string file = fmt::format("{}/predict_results_{}.txt", folder, task);
    log_info("{:<11} {}", "predicted", file);
    return file_store().write(file, text);
  };
  const std::string& task = labels->s->task_name;
  HONE_TRY(write(task.empty() ? "None" : task, 0, test));
  if (all > test) HONE_TRY(write(task + "-mm", test, all));
  return OrderedJson::object();
}

Result<Examples> classification_examples(const std::shared_ptr<ClassificationSettings>& s,
                                         Pretrained& model, const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  ClassificationData data = HONE_TRY(read_classification(*s, model, source.pool));
  show_notes(data.notes);
  HONE_TRY(set_labels(model.config, data.map, s->task_name));
  const auto labels = std::make_shared<ClassificationLabels>(ClassificationLabels{s, model.config});
  labels->matched = data.matched, labels->mismatched = data.mismatched;
  labels->test = data.test, labels->test_mismatched = data.test_mismatched;
  Examples x;
  if (data.train) x.hash = data.train->hash();
  labels->train = take_rows(data.train, x.train);
  labels->eval = take_rows(data.eval, x.eval);
  x.evaluated = labels->evaluated();
  x.train_rows_read = data.train_rows_labelled;
  x.collate = [labels](const CollatedRows& rows, Batch& to) { return labels->collate(rows, to); };
  x.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) { return plan.rows; };
  x.metrics = [labels](int64_t) {
    return std::make_unique<ClassificationEvaluation>(labels, nullptr);
  };
  x.predict = [labels](TaskRun& run, const std::string& folder) {
    return predict_classification(labels, run, folder);
  };
  return x;
}

// The labels of the GLUE task, else those of config.json; the data have the last word.
Status choose_classification_head(const ClassificationSettings& s, ModelConfig& config) {
  if (s.streaming)
    return Error(err::kStreaming, "classification reads its rows into memory")
        .todo("leave --streaming out");
  if (const GlueTask* task = s.glue())
    return set_labels(config, named_labels(task->names), s.task_name);
  return set_head(config, Head::sequence_classification, config_labels(config));
}

}  // namespace

Status set_labels(ModelConfig& config, const LabelMap& map, const std::string& task_name) {
  Json& json = config.config;
  json["problem_type"] = map.regression ? "regression" : "single_label_classification";
  if (!task_name.empty()) json["finetuning_task"] = task_name;
  return set_head(config, Head::sequence_classification,
                  map.regression ? std::vector<std::string>{"LABEL_0"} : map.names);
}

Task classification_task(std::shared_ptr<ClassificationSettings> s) {
  Task t;
  t.name = "classification";
  t.summary = "labels or numbers for texts and pairs of texts";
  t.metric = "accuracy";
  t.metrics = [] { return std::vector<std::string>{"accuracy", "loss", "mse"}; };
  t.sample = SampleProject{.model = tiny_encoder(),
                           .row = [](int i) -> OrderedJson {
                             const SampleSentence s = sample_sentence(i);
                             return {{"text", s.text()}, {"label", s.is_good() ? "good" : "bad"}};
                           },
                           .flags = {{"max_seq_length", 128}}};
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.choose_head = [s](ModelConfig& config) { return choose_classification_head(*s, config); };
  t.form = [s](const Pretrained& model) -> Result<RunForm> {
    return RunForm{
        .limits = {{kTokens, s->row_tokens(model.config), "max_seq_length", s->max_seq_length}},
        .replaces_head = s->ignore_mismatched_sizes};
  };
  t.program = [s](const auto&... a) { return classification_program(*s, a...); };
  t.examples = [s](Pretrained& model, const ExampleSource& source) {
    return classification_examples(s, model, source);
  };
  t.prepared = classification_source(s);
  t.predicts = true;
  t.check_rows = [s](const CheckRequest& r, Findings& findings) {
    return check_labels(*s, r, findings);
  };
  return t;
}

Task task_classification() {
  return classification_task(std::make_shared<ClassificationSettings>());
}

#define HONE_BIND ClassificationSettings::bind
#define HONE_SETTINGS "learn/tasks/classification_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
