// Classification of texts and pairs of texts, or a number for each (run_glue).
#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "learn/data/batches/labelled_batch.h"
#include "learn/harness/collate.h"
#include "learn/harness/errors.h"
#include "learn/harness/example_scores.h"
#include "learn/harness/run/task_run.h"
#include "learn/harness/token_graph.h"
#include "learn/tasks/classification_check.h"
#include "learn/tasks/classification_data.h"
#include "learn/tasks/classification_metrics.h"
#include "learn/tasks/classification_parts.h"
#include "learn/tasks/prediction_file.h"

namespace hone {
namespace {

constexpr const char* kManyLabels = "multi_label_classification";

bool has_many(const ModelConfig& config) { return config.text("problem_type", "") == kManyLabels; }
bool is_regression(const ModelConfig& config) { return config.labels == 1 && !has_many(config); }

// An encoder-decoder reads each row on both sides.
BatchShape shape_of_sides(const ModelConfig& config, const BatchShape& shape) {
  if (!family_of(config).encoder) return shape;
  const int64_t tokens = shape[kTokens];
  return {{{kSourceTokens, tokens}, {kTargetTokens, tokens}, {kSequences, shape[kSequences]}}};
}

// Inputs beside those of token_graph.h: token_types i32[T] for models that have them; last_rows i32[S]
// for models that read one token; labels i32[S] (-100: no row), or where the model has one label, which
// makes it a regression, labels and weight f32[S] (0: no row), or of rows with several labels f32[S,
// labels] and weight. Evaluation gives logits f32[S, labels] and does not read labels.
Program classification_program(const ClassificationSettings& s, const ModelConfig& config,
                               const BatchShape& shape, const std::string& name, bool train) {
  const bool regression = is_regression(config), many = has_many(config);
  const int64_t sequences = shape[kSequences];
  const Type classes{DType::i32, {sequences}}, values{DType::f32, {sequences}},
      sets{DType::f32, {sequences, config.labels}};
  TokenGraph g(config, shape_of_sides(config, shape), name, train,
               many         ? sets
               : regression ? values
                            : classes);
  if (has_token_types(config))
    g.model.token_types = g.program.add_input("token_types", {DType::i32, {shape[kTokens]}});
  if (reads_label_rows(config)) g.model.label_rows = g.program.add_input("last_rows", classes);
  const HeadLayer layer = model_head(g.model);
  Builder::Scope head(g.b, "head");
  const auto output = [&](const char* what, ValueId value) {
    g.program.outputs.push_back({what, value});
    return std::move(g.program);
  };
  if (train && !regression && !many)
    return output(
        "loss",
        cross_entropy_of(g.b, layer, g.labels, g.scale, true, s.label_smoothing_factor).loss);
  const ValueId logits = logits_of(g.b, layer);  // [S,labels]
  if (!train) return output("logits", logits);
  const ValueId weight = g.program.add_input("weight", values);
  if (many) {
    // max(x, 0) - x y + log(1 + exp(-|x|)), of which a row has the mean.
    const ValueId zero = ops::constant(g.b, 0, {DType::f32, {}}),
                  one = ops::constant(g.b, 1, {DType::f32, {}});
    const ValueId size = ops::maximum(g.b, logits, ops::neg(g.b, logits));
    const ValueId tail = ops::log(g.b, ops::add(g.b, ops::exp(g.b, ops::neg(g.b, size)), one));
    const ValueId linear_part =
        ops::sub(g.b, ops::maximum(g.b, zero, logits), ops::mul(g.b, logits, g.labels));
    const ValueId by_row = ops::reduce_sum(g.b, ops::add(g.b, linear_part, tail), {1});
    const ValueId sum = ops::reduce_sum(g.b, ops::mul(g.b, by_row, weight), {0});
    const double share = 1 / static_cast<double>(config.labels);
    return output("loss", ops::mul(g.b, ops::mul(g.b, sum, g.scale),
                                   ops::constant(g.b, share, {DType::f32, {}})));
  }
  const ValueId off =
      ops::mul(g.b, ops::sub(g.b, ops::reshape(g.b, logits, {sequences}), g.labels), weight);
  return output("loss", ops::mul(g.b, ops::reduce_sum(g.b, ops::mul(g.b, off, off), {0}), g.scale));
}

// Data of the rows besides tokens.
struct ClassificationLabels {
  std::shared_ptr<const ClassificationSettings> s;
  const ModelConfig& config;
  const Tokenizer* tokenizer;  // null: the rows are prepared, and the model has none
  RowLabels train = {}, eval = {};
  // Rows of evaluation, kind by kind.
  int64_t matched = 0, mismatched = 0, test = 0, test_mismatched = 0;

  int64_t evaluated() const { return matched + mismatched; }

  Result<bool> collate(const CollatedRows& rows, Batch& to) const {
    const TokenRows& data = rows.data.axes[0];
    HONE_TRY(collate_sides(data, rows.rows, to));
    LabelInputs inputs{.token_types = to.get_if<int32_t>("token_types")};
    if (rows.training() && has_many(config))
      fill_sets(rows.rows, to);
    else if (rows.training() && is_regression(config))
      inputs.values = to.get<float>("labels"), inputs.weight = to.get<float>("weight");
    else if (rows.training())
      inputs.classes = to.get<int32_t>("labels");
    fill_labels(data, rows.training() ? train : eval, rows.rows, inputs);
    HONE_TRY(finish_tokens(config, to));
    return false;
  }

  // The rows, those of an encoder-decoder on both sides; last_rows names the token that is read.
  Status collate_sides(const TokenRows& data, const BatchRows& rows, Batch& to) const {
    HONE_TRY(collate_tokens(data, rows, kDecoderInputs, to));
    if (to.has("last_rows")) fill_last_rows(data, rows, to.get<int32_t>("last_rows"));
    if (!family_of(config).encoder) return Ok{};
    HONE_TRY(collate_tokens(data, rows, kEncoderInputs, to));
    const auto ids = to.get<int32_t>("ids");
    size_t at = 0;
    for (const int64_t row : rows.rows) {
      const auto all = data.row(row);
      ids[at] = config.decoder_start < 0 ? all.back() : static_cast<int32_t>(config.decoder_start);
      std::copy(all.begin(), all.end() - 1, ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      at += all.size();
    }
    return Ok{};
  }

  // The last token that is not padding; of an encoder-decoder the last end-of-text token, else the last.
  void fill_last_rows(const TokenRows& data, const BatchRows& rows, std::span<int32_t> last) const {
    const bool both = family_of(config).encoder != nullptr;
    const int64_t padding = padding_of(config), end = end_of_text(config);
    std::fill(last.begin(), last.end(), -1);
    int64_t at = 0;
    for (size_t s = 0; s < rows.rows.size(); ++s) {
      const auto all = data.row(rows.rows[s]);
      int64_t place = std::ssize(all) - 1;
      for (int64_t i = std::ssize(all); i-- > 0;) {
        const int32_t id = all[static_cast<size_t>(i)];
        if (both ? id != end : id == padding) continue;
        place = i;
        break;
      }
      last[s] = static_cast<int32_t>(at + place);
      at += std::ssize(all);
    }
  }

  void fill_sets(const BatchRows& rows, Batch& to) const {
    const auto wanted = to.get<float>("labels"), weight = to.get<float>("weight");
    std::fill(wanted.begin(), wanted.end(), 0.0f);
    std::fill(weight.begin(), weight.end(), 0.0f);
    for (size_t s = 0; s < rows.rows.size(); ++s) {
      weight[s] = 1;
      for (const int32_t label : train.sets[static_cast<size_t>(rows.rows[s])])
        wanted[s * static_cast<size_t>(config.labels) + static_cast<size_t>(label)] = 1;
    }
  }
};

OrderedJson texts_of_row(const RowTexts& row) {
  OrderedJson texts = {{"text", row.first}};
  if (!row.second.empty()) texts["text_pair"] = row.second;
  return texts;
}

// The texts of a prepared row, as its tokens spell them.
OrderedJson texts_of_tokens(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  OrderedJson texts = OrderedJson::object();
  for (size_t from = 0; from < ids.size();) {
    const auto separates = [&](int32_t id) {
      return tokenizer.is_special(id) && id != tokenizer.unk_id();
    };
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(from);
    const auto end = std::find_if(begin, ids.end(), separates);
    if (begin != end && texts.size() < 2)
      texts[texts.empty() ? "text" : "text_pair"] = trim(tokenizer.decode({begin, end}));
    from = static_cast<size_t>(end - ids.begin()) + 1;
  }
  return texts;
}

// Texts of predictions, as run_glue and run_classification write them: a number, a name or a list of
// names.
struct ClassPredictions {
  const ModelConfig& config;
  std::vector<std::string> texts;

  std::string name(int64_t label) const {
    return config.config["id2label"][std::to_string(label)].get<std::string>();
  }
  void put(size_t row, std::span<const float> logits) {
    std::string& text = texts[row];
    if (is_regression(config)) {
      text = fmt::format("{:.3f}", logits[0]);
    } else if (!has_many(config)) {
      text = name(predicted_class(logits));
    } else {
      for (size_t c = 0; c < logits.size(); ++c)
        if (logits[c] > 0)
          text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name(static_cast<int64_t>(c)));
      text = "[" + text + "]";
    }
  }
};

class ClassificationEvaluation : public EvalMetrics {
 public:
  // `predictions` gets those of the rows after the evaluated ones.
  ClassificationEvaluation(std::shared_ptr<const ClassificationLabels> labels,
                           ClassPredictions* predictions)
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
        predictions_->put(static_cast<size_t>(row - begin), of_row);
        continue;
      }
      add_texts(row, rows.data.axes[0].row(row));
      add_example(row, of_row);
      ClassificationMetrics& m = row < labels_->matched ? matched_ : mismatched_;
      const int64_t number = row < labels_->matched ? row : row - labels_->matched;
      if (has_many(labels_->config))
        m.add(number, of_row, labels_->eval.sets[static_cast<size_t>(row)]);
      else if (is_regression(labels_->config))
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
  void add_texts(int64_t row, std::span<const int32_t> ids) const {
    ExampleScores* examples = labels_->s->example_scores.get();
    if (examples == nullptr) return;
    if (const std::vector<RowTexts>& texts = labels_->eval.texts; !texts.empty())
      examples->add(row, texts_of_row(texts[static_cast<size_t>(row)]));
    else if (labels_->tokenizer != nullptr)
      examples->add(row, texts_of_tokens(*labels_->tokenizer, ids));
  }

  // The prediction by name, or the number, beside what was wanted.
  void add_example(int64_t row, std::span<const float> logits) const {
    ExampleScores* examples = labels_->s->example_scores.get();
    if (examples == nullptr) return;
    const auto at = static_cast<size_t>(row);
    if (has_many(labels_->config)) {
      add_sets(row, logits);
      return;
    }
    if (is_regression(labels_->config)) {
      const double predicted = static_cast<double>(logits[0]),
                   wanted = static_cast<double>(labels_->eval.values[at]);
      examples->add(row, {{"prediction", predicted},
                          {"reference", wanted},
                          {"scores",
                           {{"mse", (predicted - wanted) * (predicted - wanted)},
                            {"predicted", predicted},
                            {"wanted", wanted}}}});
      return;
    }
    const int64_t best = predicted_class(logits), wanted = labels_->eval.classes[at];
    const Json& names = labels_->config.config["id2label"];
    const auto name = [&](int64_t i) { return names[std::to_string(i)].get<std::string>(); };
    const auto nll = [&](int64_t i) { return cross_entropy(logits, static_cast<size_t>(i), 0); };
    examples->add(row, {{"prediction", name(best)},
                        {"probability", std::exp(-nll(best))},
                        {"reference", name(wanted)},
                        {"reference_probability", std::exp(-nll(wanted))},
                        {"scores",
                         {{"accuracy", best == wanted ? 1 : 0},
                          {"nll", nll(wanted)},
                          {"tokens", 1},
                          {"predicted", best},
                          {"wanted", wanted},
                          {"classes", logits.size()}}}});
  }

  // The predicted names beside those that were wanted.
  void add_sets(int64_t row, std::span<const float> logits) const {
    OrderedJson predicted = OrderedJson::array(), wanted = OrderedJson::array();
    const Json& names = labels_->config.config["id2label"];
    for (size_t c = 0; c < logits.size(); ++c)
      if (logits[c] > 0) predicted.push_back(names[std::to_string(c)].get<std::string>());
    for (const int32_t label : labels_->eval.sets[static_cast<size_t>(row)])
      wanted.push_back(names[std::to_string(label)].get<std::string>());
    const int right = predicted == wanted ? 1 : 0;
    const auto found = std::count_if(predicted.begin(), predicted.end(), [&](const auto& name) {
      return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
    });
    labels_->s->example_scores->add(
        row, {{"prediction", predicted},
              {"reference", wanted},
              {"scores",
               {{"exact_match", right},
                {"nll", many_names_loss(logits, labels_->eval.sets[static_cast<size_t>(row)])},
                {"tokens", 1},
                {"names_found", 2 * found},
                {"names_given", predicted.size() + wanted.size()}}}});
  }

  ClassificationMetrics metrics() const {
    const ClassificationSettings& s = *labels_->s;
    const ModelConfig& config = labels_->config;
    return {{.task = s.task_name,
             .metric = s.metric_name,
             .regression = is_regression(config),
             .many = has_many(config),
             .labels = config.labels},
            s.per_device_eval_batch_size,
            s.label_smoothing_factor};
  }

  std::shared_ptr<const ClassificationLabels> labels_;
  ClassificationMetrics matched_, mismatched_;
  ClassPredictions* predictions_;
};

// predict_results_<task>.txt as run_glue writes it, and of mnli predict_results_mnli-mm.txt; without task_name
// predict_results.txt, as run_classification.
Result<OrderedJson> predict_classification(
    const std::shared_ptr<const ClassificationLabels>& labels, TaskRun& run,
    const std::string& folder) {
  const int64_t begin = labels->evaluated(), test = labels->test,
                all = test + labels->test_mismatched;
  ClassPredictions predictions{labels->config, std::vector<std::string>(static_cast<size_t>(all))};
  ClassificationEvaluation evaluation(labels, &predictions);
  if (HONE_TRY(run.evaluate_rows(begin, begin + all, evaluation)) < 0)
    return OrderedJson::object();  // stopped
  if (!run.ranks().leads()) return OrderedJson::object();
  const std::string& task = labels->s->task_name;
  const std::span<const std::string> texts = predictions.texts;
  HONE_TRY(write_predictions(folder, task, texts.first(static_cast<size_t>(test))));
  if (all > test)
    HONE_TRY(write_predictions(folder, task + "-mm", texts.subspan(static_cast<size_t>(test))));
  return OrderedJson::object();
}

Result<Examples> classification_examples(const std::shared_ptr<ClassificationSettings>& s,
                                         Pretrained& model, const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  ClassificationData data = HONE_TRY(read_classification(*s, model, source.pool));
  show_notes(schema_of(*s), data.notes);
  HONE_TRY(set_labels(model.config, data.map, s->task_name));
  if (s->do_train) model.trained.columns = data.columns;
  name_padding(model);
  const auto labels = std::make_shared<ClassificationLabels>(
      ClassificationLabels{s, model.config, model.tokenizer ? &*model.tokenizer : nullptr});
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
  json["problem_type"] = map.many         ? kManyLabels
                         : map.regression ? "regression"
                                          : "single_label_classification";
  if (!task_name.empty()) json["finetuning_task"] = task_name;
  return set_head(config, Head::sequence_classification,
                  map.regression ? std::vector<std::string>{"LABEL_0"} : map.names);
}

Task classification_task(std::shared_ptr<ClassificationSettings> s) {
  Task t;
  t.name = "classification";
  t.summary = "labels or numbers for texts and pairs of texts";
  t.metric = "accuracy";
  t.metrics = [] { return row_metrics_of_classification(); };
  t.sample = SampleProject{
      .model = tiny_encoder(),
      .row = [](int i) -> OrderedJson {
        const SampleSentence s = sample_sentence(i);
        return {{"text", fmt::format("At {} there was {} at {}.", s.time, s.weather, s.place)},
                {"label", s.is_good() ? "good" : "bad"}};
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
