// Multiple choice: which of several endings follows a text (run_swag). Each choice is a sequence of its own with one
// score; the loss is the cross entropy of a row's scores.
#include <algorithm>
#include <cmath>

#include "learn/data/formats/errors.h"
#include "learn/harness/errors.h"
#include "learn/harness/example_scores.h"
#include "learn/harness/run/task_run.h"
#include "learn/metrics/loss.h"
#include "learn/tasks/multiple_choice_data.h"
#include "learn/tasks/prediction_file.h"
#include "learn/tasks/text_graph.h"
#include "learn/tasks/text_rows_check.h"

namespace hone {
namespace {

using ChoicePtr = std::shared_ptr<MultipleChoiceSettings>;

// Known after the columns of the rows are: shared by the functions of the task.
struct ChoiceState {
  int64_t choices = 2;
};
using ChoiceStatePtr = std::shared_ptr<ChoiceState>;

// -log of the share of label[r] among scores [R,K], smoothed as in Transformers' LabelSmoother, times weight [R].
ValueId choice_losses(Builder& b, ValueId scores, ValueId label, ValueId weight, double smoothing) {
  const Shape all = b.type(scores).shape;
  const auto real = [&](double x) { return ops::constant(b, x, {DType::f32, {}}); };
  const ValueId most = ops::reduce_max(b, scores, {1});
  const ValueId powers = ops::exp(b, ops::sub(b, scores, ops::broadcast(b, most, all, {0})));
  const ValueId sum = ops::add(b, ops::log(b, ops::reduce_sum(b, powers, {1})), most);
  const ValueId is_right =
      ops::compare(b, ops::iota(b, {DType::i32, all}, 1), ops::broadcast(b, label, all, {0}), "eq");
  const ValueId right = ops::reduce_sum(b, ops::select(b, is_right, scores, real(0)), {1});
  ValueId losses = ops::sub(b, sum, right);
  if (smoothing > 0) {
    const ValueId mean =
        ops::mul(b, ops::reduce_sum(b, scores, {1}), real(1 / static_cast<double>(all[1])));
    losses = ops::add(b, ops::mul(b, losses, real(1 - smoothing)),
                      ops::mul(b, ops::sub(b, sum, mean), real(smoothing)));
  }
  return ops::mul(b, losses, weight);
}

// Inputs beside those of text_graph.h, of `choices` sequences a row and its right choice as label: token_types
// i32[T] for models that have them. Evaluation gives logits f32[R,choices].
Program choice_program(const MultipleChoiceSettings& s, const ChoiceState& state,
                       const ModelConfig& config, const BatchShape& shape, const std::string& name,
                       bool train) {
  TextGraph g(config, shape, name, train, state.choices, 1, train);
  if (has_token_types(config))
    g.model.token_types = g.program.add_input("token_types", {DType::i32, {shape[kTokens]}});
  Builder& b = g.b;
  const HeadLayer layer = model_head(g.model);
  Builder::Scope head(b, "head");
  const ValueId scores = ops::reshape(b, logits_of(b, layer), {g.rows, state.choices});
  if (!train) {
    g.program.outputs.push_back({"logits", scores});
    return std::move(g.program);
  }
  const ValueId losses = choice_losses(b, scores, ops::cast(b, g.labels, DType::i32), g.weight,
                                       s.label_smoothing_factor);
  g.program.outputs.push_back({"loss", ops::mul(b, ops::reduce_sum(b, losses, {0}), g.scale)});
  return std::move(g.program);
}

// Rows of evaluation: those of `eval`, then those of `test`.
struct ChoiceRows {
  std::shared_ptr<const MultipleChoiceSettings> s;
  const ModelConfig& config;
  TextRows train = {}, eval = {};  // without their tokens
  int64_t evaluated = 0, predicted = 0;

  Result<bool> collate(const CollatedRows& rows, Batch& to) const {
    HONE_TRY(collate_text_rows(config, rows.data.axes[0], rows.training() ? train : eval, rows.rows,
                               to));
    return false;
  }
};

class ChoiceEvaluation final : public EvalMetrics {
 public:
  // `predictions` gets those of the rows after the evaluated ones.
  ChoiceEvaluation(std::shared_ptr<const ChoiceRows> rows, std::vector<int64_t>* predictions)
      : rows_(std::move(rows)),
        loss_(rows_->s->per_device_eval_batch_size),
        predictions_(predictions) {}

  bool add(const CollatedRows& rows, const Batch& outputs) override {
    const auto logits = outputs.get<const float>("logits");
    const auto count = static_cast<size_t>(rows_->eval.texts);
    for (size_t q = 0; q < rows.rows.rows.size(); ++q) {
      const int64_t row = rows.rows.rows[q];
      const auto own = logits.subspan(q * count, count);
      if (!std::all_of(own.begin(), own.end(), [](float x) { return std::isfinite(x); }))
        return false;
      const int64_t best = predicted_class(own);
      if (row >= rows_->evaluated) {
        (*predictions_)[static_cast<size_t>(row - rows_->evaluated)] = best;
        continue;
      }
      const auto wanted = static_cast<int64_t>(rows_->eval.labels[static_cast<size_t>(row)]);
      accuracy_.add(best == wanted ? 1 : 0, 1);
      loss_.add(row,
                cross_entropy(own, static_cast<size_t>(wanted), rows_->s->label_smoothing_factor),
                1);
      if (ExampleScores* examples = rows_->s->example_scores.get())
        examples->add(row, {{"prediction", best},
                            {"reference", wanted},
                            {"scores",
                             {{"accuracy", best == wanted ? 1 : 0},
                              {"nll", cross_entropy(own, static_cast<size_t>(wanted), 0)},
                              {"tokens", 1}}}});
    }
    return true;
  }
  double loss() const override { return loss_.eval_loss(); }
  OrderedJson values(int64_t rows) const override {
    if (loss_.rows() == 0) return {{"samples", rows}};  // predicted, not evaluated
    return {{"accuracy", accuracy_.value()}, {"loss", loss()}, {"samples", rows}};
  }

 private:
  std::shared_ptr<const ChoiceRows> rows_;
  EvalLoss loss_;
  Accuracy accuracy_;
  std::vector<int64_t>* predictions_;
};

// predict_results_multiple_choice.txt: the number of the best choice of each row.
Result<OrderedJson> predict_choices(const std::shared_ptr<const ChoiceRows>& rows, TaskRun& run,
                                    const std::string& folder) {
  std::vector<int64_t> predictions(static_cast<size_t>(rows->predicted));
  ChoiceEvaluation evaluation(rows, &predictions);
  const int64_t begin = rows->evaluated;
  if (HONE_TRY(run.evaluate_rows(begin, begin + rows->predicted, evaluation)) < 0)
    return OrderedJson::object();  // stopped
  if (!run.ranks().leads()) return OrderedJson::object();
  std::vector<std::string> texts;
  for (const int64_t best : predictions) texts.push_back(std::to_string(best));
  HONE_TRY(write_predictions(folder, "multiple_choice", texts));
  return OrderedJson::object();
}

// The rows to evaluate, then those to predict.
TextRows join_choices(std::optional<TextRows> eval, std::optional<TextRows> test) {
  if (!eval) return std::move(*test);
  if (!test) return std::move(*eval);
  TextRows& all = *eval;
  for (int64_t i = 0; i < test->rows.size(); ++i) all.rows.add_from(test->rows, i);
  all.lengths.insert(all.lengths.end(), test->lengths.begin(), test->lengths.end());
  all.types.insert(all.types.end(), test->types.begin(), test->types.end());
  return std::move(*eval);
}

Error other_choices(int64_t found, int64_t wanted) {
  return Error(err::kNoColumn,
               fmt::format("a split has {} choices a row, another has {}", found, wanted))
      .at("--ending_column_names")
      .todo("name as many endings for each split");
}

Result<Examples> choice_examples(const ChoicePtr& s, const ChoiceStatePtr& state, Pretrained& model,
                                 const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  MultipleChoiceData data = HONE_TRY(read_multiple_choice(*s, model, source.pool));
  show_notes(schema_of(*s), data.notes);
  for (const auto* split : {&data.train, &data.eval, &data.test})
    if (*split && (*split)->texts != state->choices)
      return other_choices((*split)->texts, state->choices);
  const auto rows = std::make_shared<ChoiceRows>(ChoiceRows{s, model.config});
  Examples x;
  x.train_rows_read = data.train_rows;
  if (data.train) {
    x.hash = hash_of(*data.train);
    x.train.emplace(std::move(data.train->rows));
    rows->train = std::move(*data.train);
  }
  rows->evaluated = data.eval ? data.eval->rows.size() : 0;
  rows->predicted = data.test ? data.test->rows.size() : 0;
  if (data.eval || data.test) {
    rows->eval = join_choices(std::move(data.eval), std::move(data.test));
    // Labels of rows to predict are not read.
    rows->eval.labels_of_row = 0;
    x.eval.emplace(std::move(rows->eval.rows));
  }
  x.evaluated = rows->evaluated;
  x.collate = [rows](const CollatedRows& batch, Batch& to) { return rows->collate(batch, to); };
  x.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) { return plan.rows; };
  x.metrics = [rows](int64_t) { return std::make_unique<ChoiceEvaluation>(rows, nullptr); };
  x.predict = [rows](TaskRun& run, const std::string& folder) {
    return predict_choices(rows, run, folder);
  };
  return x;
}

Status choose_choice_head(const MultipleChoiceSettings& s, ChoiceState& state,
                          ModelConfig& config) {
  if (s.streaming)
    return Error(err::kStreaming, "multiple choice reads its rows into memory")
        .todo("leave --streaming out");
  HONE_TRY(set_head(config, Head::multiple_choice));
  if (s.do_train || s.do_eval || s.do_predict) state.choices = HONE_TRY(count_choices(s));
  return Ok{};
}

RowsReport check_choices(const MultipleChoiceSettings& s, const CheckRequest& request,
                         Findings& findings) {
  RowsReport report;
  const Result<MultipleChoiceData> data = read_multiple_choice(s, request.model, request.pool);
  if (!data.ok()) {
    findings.add(data.error());
    return report;
  }
  request.notes = data->notes;
  for (const auto& [name, split, to] : {std::tuple("train", &data->train, &report.train),
                                        {"validation", &data->eval, &report.eval}}) {
    if (!*split) continue;
    report_text_rows(name, **split, {}, s.choice_tokens(request.model.config), *to, findings);
  }
  if (data->train) add_text_samples(*data->train, request.samples, report);
  return report;
}

OrderedJson sample_choice(int i) {
  const SampleSentence s = sample_sentence(i), other = sample_sentence(i + 1);
  const int right = i % 2;
  const std::string true_end = fmt::format("to {} at {}.", s.place, s.time),
                    false_end = fmt::format("because of {}.", other.weather);
  return {{"sent1", fmt::format("The ferry to {} leaves at {}.", s.place, s.time)},
          {"sent2", "So it goes"},
          {"ending0", right == 0 ? true_end : false_end},
          {"ending1", right == 1 ? true_end : false_end},
          {"label", right}};
}

}  // namespace

Task task_multiple_choice() {
  const auto s = std::make_shared<MultipleChoiceSettings>();
  const auto state = std::make_shared<ChoiceState>();
  Task t;
  t.name = "multiple_choice";
  t.summary = "which of several endings follows a text";
  t.metric = "accuracy";
  t.metrics = [] { return std::vector<std::string>{"accuracy", "loss"}; };
  t.sample = SampleProject{
      .model = tiny_encoder(), .row = sample_choice, .flags = {{"max_seq_length", 128}}};
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.choose_head = [s, state](ModelConfig& config) {
    return choose_choice_head(*s, *state, config);
  };
  t.form = [s, state](const Pretrained& model) -> Result<RunForm> {
    return RunForm{.limits = {{kTokens, state->choices * s->choice_tokens(model.config),
                               "max_seq_length", s->max_seq_length}},
                   .replaces_head = s->ignore_mismatched_sizes};
  };
  t.program = [s, state](const auto&... a) { return choice_program(*s, *state, a...); };
  t.examples = [s, state](Pretrained& model, const ExampleSource& source) {
    return choice_examples(s, state, model, source);
  };
  t.prepared = multiple_choice_source(s);
  t.predicts = true;
  t.check_rows = [s](const CheckRequest& request, Findings& findings) {
    return check_choices(*s, request, findings);
  };
  return t;
}

}  // namespace hone
