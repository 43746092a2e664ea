// Extractive question answering: the part of a context that answers a question (run_qa).
#include <algorithm>
#include <cmath>

#include "base/core/log.h"
#include "base/store/store.h"
#include "learn/check/check_rows.h"
#include "learn/check/row_faults.h"
#include "learn/data/batches/labelled_batch.h"
#include "learn/harness/collate.h"
#include "learn/harness/errors.h"
#include "learn/harness/run/task_run.h"
#include "learn/harness/token_graph.h"
#include "learn/metrics/answers.h"
#include "learn/tasks/qa_answers.h"

namespace hone {
namespace {

// -log of the share of token label[s] among those of sequence s, [S], by scores [T] and the sequence of
// each token; 0 without a label.
ValueId token_choice(Builder& b, ValueId scores, ValueId segments, ValueId label, ValueId weight) {
  const int64_t tokens = b.type(scores).shape[0], sequences = b.type(label).shape[0];
  const Shape all{sequences, tokens};
  const ValueId own = ops::compare(b, ops::broadcast(b, segments, all, {1}),
                                   ops::iota(b, {DType::i32, all}, 0), "eq");
  const ValueId far = ops::constant(b, -1e30, {DType::f32, {}});
  const ValueId own_scores = ops::select(b, own, ops::broadcast(b, scores, all, {1}), far);
  const ValueId most = ops::reduce_max(b, own_scores, {1});
  const ValueId powers = ops::exp(b, ops::sub(b, own_scores, ops::broadcast(b, most, all, {0})));
  const ValueId sum = ops::add(b, ops::log(b, ops::reduce_sum(b, powers, {1})), most);
  const ValueId picked = ops::reshape(
      b, ops::gather_rows(b, ops::reshape(b, scores, {tokens, 1}), label), {sequences});
  return ops::mul(b, ops::sub(b, sum, picked), weight);
}

// Inputs beside those of token_graph.h: token_types i32[T] for models that have them; in training labels
// i32[S], the token that begins the answer, ends i32[S], the one that ends it, segments i32[T] the
// sequence of each token, weight f32[S] (0: no row). Evaluation gives begin_scores and end_scores f32[T].
Program qa_program(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                   bool train) {
  const int64_t tokens = shape[kTokens], rows = shape[kSequences];
  const Type of_tokens{DType::i32, {tokens}}, of_rows{DType::i32, {rows}};
  TokenGraph g(config, shape, name, train, of_rows);
  if (has_token_types(config)) g.model.token_types = g.program.add_input("token_types", of_tokens);
  Builder& b = g.b;
  const ValueId scores = logits_of(b, model_head(g.model));  // [T,2]
  Builder::Scope head(b, "head");
  const auto column = [&](int64_t which) {
    return ops::reshape(b, ops::slice(b, scores, 1, which, which + 1), {tokens});
  };
  if (!train) {
    g.program.outputs.push_back({"begin_scores", column(0)});
    g.program.outputs.push_back({"end_scores", column(1)});
    return std::move(g.program);
  }
  const ValueId ends = g.program.add_input("ends", of_rows),
                segments = g.program.add_input("segments", of_tokens),
                weight = g.program.add_input("weight", {DType::f32, {rows}});
  const ValueId begin = token_choice(b, column(0), segments, g.labels, weight),
                end = token_choice(b, column(1), segments, ends, weight);
  const ValueId both = ops::reduce_sum(b, ops::add(b, begin, end), {0});
  const ValueId half = ops::constant(b, 0.5, {DType::f32, {}});
  g.program.outputs.push_back({"loss", ops::mul(b, ops::mul(b, both, half), g.scale)});
  return std::move(g.program);
}

// Data of the rows besides tokens. Rows of evaluation: those of `eval`, then those of `test`.
struct QaRows {
  std::shared_ptr<const QaSettings> s;
  const ModelConfig& config;
  QaSplit train = {}, eval = {}, test = {};  // without their rows
  std::vector<uint8_t> eval_types = {};      // of both

  int64_t evaluated() const { return std::ssize(eval.parts); }

  Result<bool> collate(const CollatedRows& rows, Batch& to) const {
    const TokenRows& data = rows.data.axes[0];
    HONE_TRY(collate_tokens(data, rows.rows, kDecoderInputs, to));
    if (const auto types = to.get_if<int32_t>("token_types"); !types.empty()) {
      const std::vector<uint8_t>& all = rows.training() ? train.types : eval_types;
      std::fill(types.begin(), types.end(), 0);
      auto at = types.begin();
      for (const int64_t row : rows.rows.rows) {
        const auto ids = data.row(row);
        const auto first = all.begin() + (ids.data() - data.row(0).data());
        at = std::copy(first, first + std::ssize(ids), at);
      }
    }
    if (rows.training()) fill_answers(data, rows.rows, to);
    HONE_TRY(finish_tokens(config, to));
    return false;
  }

  void fill_answers(const TokenRows& data, const BatchRows& rows, Batch& to) const {
    const auto begins = to.get<int32_t>("labels"), ends = to.get<int32_t>("ends"),
               segments = to.get<int32_t>("segments");
    const auto weight = to.get<float>("weight");
    std::fill(begins.begin(), begins.end(), -1);
    std::fill(ends.begin(), ends.end(), -1);
    std::fill(segments.begin(), segments.end(), -1);
    std::fill(weight.begin(), weight.end(), 0.0f);
    int32_t at = 0;
    for (size_t i = 0; i < rows.rows.size(); ++i) {
      const QaPart& part = train.parts[static_cast<size_t>(rows.rows[i])];
      const auto tokens = static_cast<int32_t>(data.length(rows.rows[i]));
      std::fill_n(segments.begin() + at, tokens, static_cast<int32_t>(i));
      begins[i] = at + part.begin, ends[i] = at + part.end;
      weight[i] = 1;
      at += tokens;
    }
  }
};

// Keeps the scores of rows.
class QaEvaluation final : public EvalMetrics {
 public:
  QaEvaluation(int64_t first, int64_t rows) : first_(first), scores(static_cast<size_t>(rows)) {}
  bool add(const CollatedRows& rows, const Batch& outputs) override {
    const auto begins = outputs.get<const float>("begin_scores"),
               ends = outputs.get<const float>("end_scores");
    size_t at = 0;
    for (const int64_t row : rows.rows.rows) {
      const auto tokens = static_cast<size_t>(rows.data.axes[0].length(row));
      const auto begin = begins.subspan(at, tokens), end = ends.subspan(at, tokens);
      for (const auto& list : {begin, end})
        if (!std::all_of(list.begin(), list.end(), [](float x) { return std::isfinite(x); }))
          return false;
      scores[static_cast<size_t>(row - first_)] = {{begin.begin(), begin.end()},
                                                   {end.begin(), end.end()}};
      at += tokens;
    }
    return true;
  }
  double loss() const override { return std::nan(""); }
  OrderedJson values(int64_t rows) const override { return {{"samples", rows}}; }

 private:
  int64_t first_;

 public:
  std::vector<QaScores> scores;
};

// Answers of the rows [first, first + parts of the split), with their files, unless there is no folder, and metrics.
Result<OrderedJson> answer(const std::shared_ptr<const QaRows>& rows, const QaSplit& split,
                           int64_t first, TaskRun& run, const std::string& folder,
                           const std::string& prefix) {
  const int64_t count = std::ssize(split.parts);
  QaEvaluation evaluation(first, count);
  if (HONE_TRY(run.evaluate_rows(first, first + count, evaluation)) < 0)
    return OrderedJson::object();  // stopped
  const QaAnswers answers = find_answers(*rows->s, split, evaluation.scores);
  if (run.ranks().leads() && !folder.empty()) {
    HONE_TRY(file_store().make_dirs(folder));
    HONE_TRY(write_answers(*rows->s, split.examples, answers, folder, prefix));
  }
  OrderedJson values =
      score_answers(split.examples, answers.texts, rows->s->version_2_with_negative,
                    prefix == "eval" ? rows->s->example_scores.get() : nullptr);
  values["samples"] = std::ssize(split.parts);
  return values;
}

Result<OrderedJson> predict_qa(const std::shared_ptr<const QaRows>& rows, TaskRun& run,
                               const std::string& folder) {
  const QaSplit& test = rows->test;
  OrderedJson values = HONE_TRY(answer(rows, test, rows->evaluated(), run, folder, "predict"));
  log_info("{:<11} {}/predict_predictions.json", "predicted", folder);
  const bool scored = std::any_of(test.examples.begin(), test.examples.end(),
                                  [](const QaExample& e) { return !e.answers.empty(); });
  return scored ? values : OrderedJson::object();
}

Result<Examples> qa_examples(const std::shared_ptr<QaSettings>& s, Pretrained& model,
                             const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  QaData data = HONE_TRY(read_qa(*s, model, source.pool));
  show_notes(schema_of(*s), data.notes);
  const auto rows = std::make_shared<QaRows>(QaRows{s, model.config});
  Examples x;
  x.train_rows_read = data.train_rows;
  if (data.train) {
    RowsHash hash(data.train->rows.hash());
    for (const QaPart& part : data.train->parts)
      hash.add(std::vector<int32_t>{part.begin, part.end});
    x.hash = hash.value();
    x.train.emplace(std::move(data.train->rows));
    rows->train = std::move(*data.train);
  }
  TokenRows all;
  for (const auto& [from, to] : {std::pair(&data.eval, &rows->eval), {&data.test, &rows->test}}) {
    if (!*from) continue;
    for (int64_t i = 0; i < (*from)->rows.size(); ++i) all.add_from((*from)->rows, i);
    const std::vector<uint8_t>& types = (*from)->types;
    rows->eval_types.insert(rows->eval_types.end(), types.begin(), types.end());
    *to = std::move(**from);
  }
  if (data.eval || data.test) x.eval.emplace(std::move(all));
  x.evaluated = rows->evaluated();
  x.collate = [rows](const CollatedRows& batch, Batch& to) { return rows->collate(batch, to); };
  x.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) { return plan.rows; };
  x.metrics = [rows](int64_t first) {
    return std::make_unique<QaEvaluation>(first, rows->evaluated());
  };
  x.evaluate = [rows](TaskRun& run) {
    return answer(rows, rows->eval, 0, run, rows->s->output_dir, "eval");
  };
  x.predict = [rows](TaskRun& run, const std::string& folder) {
    return predict_qa(rows, run, folder);
  };
  return x;
}

RowsReport check_qa(const QaSettings& s, const CheckRequest& request, Findings& findings) {
  RowsReport report;
  const Result<QaData> data = read_qa(s, request.model, request.pool);
  if (!data.ok()) {
    findings.add(data.error());
    return report;
  }
  request.notes = data->notes;
  const auto look = [&](const std::optional<QaSplit>& split, const std::string& name,
                        SplitReport& to) {
    if (!split) return;
    to.rows = std::ssize(split->examples);
    to.sequences = split->rows.size();
    to.counts.tokens_read = split->rows.tokens();
    const auto without = std::count_if(split->examples.begin(), split->examples.end(),
                                       [](const QaExample& e) { return e.answers.empty(); });
    if (without > 0 && !s.version_2_with_negative)
      findings.add(FindingLevel::kWarning, "questions_without_answer",
                   fmt::format("{}: {} of {} questions have no answer", name, without, to.rows), "",
                   "--version_2_with_negative scores them");
  };
  look(data->train, "train", report.train);
  look(data->eval, "validation", report.eval);
  if (!data->train) return report;
  for (int64_t i = 0; i < std::min(request.samples, data->train->rows.size()); ++i) {
    const auto ids = data->train->rows.row(i);
    const QaPart& part = data->train->parts[static_cast<size_t>(i)];
    std::vector<std::string> by_token(ids.size());
    for (int32_t t = part.begin; t <= part.end && part.begin > 0; ++t)
      by_token[static_cast<size_t>(t)] = "answer";
    report.samples.push_back({{ids.begin(), ids.end()}, {}, "", {}, std::move(by_token)});
  }
  return report;
}

}  // namespace

Task task_qa() {
  const auto s = std::make_shared<QaSettings>();
  Task t;
  t.name = "qa";
  t.summary = "the part of a text that answers a question";
  t.metric = "f1";
  t.metrics = [] { return std::vector<std::string>{"f1", "exact_match"}; };
  t.sample = SampleProject{.model = tiny_encoder(),
                           .row = sample_question,
                           .flags = {{"max_seq_length", 128}, {"doc_stride", 16}}};
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.choose_head = [s](ModelConfig& config) -> Status {
    if (s->streaming)
      return Error(err::kStreaming, "question answering reads its rows into memory")
          .todo("leave --streaming out");
    return set_head(config, Head::question_answering);
  };
  t.form = [s](const Pretrained& model) -> Result<RunForm> {
    return RunForm{
        .limits = {{kTokens, s->row_tokens(model.config), "max_seq_length", s->max_seq_length}},
        .replaces_head = s->ignore_mismatched_sizes};
  };
  t.program = qa_program;
  t.examples = [s](Pretrained& model, const ExampleSource& source) {
    return qa_examples(s, model, source);
  };
  t.prepared = qa_source(s);
  t.predicts = true;
  t.check_rows = [s](const CheckRequest& request, Findings& findings) {
    return check_qa(*s, request, findings);
  };
  return t;
}

}  // namespace hone
