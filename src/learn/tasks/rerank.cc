// Rerankers: cross-encoders that give a pair of a query and a text a score, as sentence-transformers trains them.
#include <cmath>

#include "base/core/text.h"
#include "learn/harness/errors.h"
#include "learn/harness/run/task_run.h"
#include "learn/pretrained/sentence_modules.h"
#include "learn/tasks/prediction_file.h"
#include "learn/tasks/rerank_check.h"
#include "learn/tasks/rerank_data.h"
#include "learn/tasks/rerank_evaluation.h"
#include "learn/tasks/rerank_loss.h"
#include "learn/tasks/row_outputs.h"
#include "learn/tasks/text_graph.h"
#include "learn/tasks/text_shards.h"

namespace hone {
namespace {

using RerankPtr = std::shared_ptr<RerankSettings>;
// Known after the columns of the rows are: shared by the functions of the task.
using RerankStatePtr = std::shared_ptr<RerankColumns>;

constexpr const char* kLogits = "logits";  // the output of an evaluation

Program rerank_program(const RerankSettings& s, const RerankColumns& state,
                       const ModelConfig& config, const BatchShape& shape, const std::string& name,
                       bool train) {
  TextGraph g(config, shape, name, train, train ? state.texts : 1, train ? state.labels : 1, train);
  if (has_token_types(config))
    g.model.token_types = g.program.add_input("token_types", {DType::i32, {shape[kTokens]}});
  const HeadLayer layer = model_head(g.model);
  Builder::Scope head(g.b, "head");
  if (train) {
    const RerankLossInputs in{.layer = layer,
                              .labels = g.labels,
                              .weight = g.weight,
                              .scale = g.scale,
                              .texts = state.texts,
                              .labels_of_row = state.labels};
    g.program.outputs.push_back(
        {"loss", rerank_loss(g.b, s.loss_of(state.texts), in, s.pos_weight)});
  } else {
    g.program.outputs.push_back({kLogits, logits_of(g.b, layer)});
  }
  return std::move(g.program);
}

struct RerankData {
  TableOfTexts eval_table, test_table;
  TextRows train, eval;
  RerankPairs pairs, test;
};

Result<OrderedJson> predict_scores(const RerankData& data, TaskRun& run,
                                   const std::string& folder) {
  const ModelConfig& config = run.model().config;
  const int64_t begin = std::ssize(data.pairs.queries), rows = std::ssize(data.test.queries);
  RowOutputs kept({kLogits}, {.rows = rows, .first = begin, .width = config.labels});
  if (HONE_TRY(run.evaluate_rows(begin, begin + rows, kept)) < 0)
    return OrderedJson::object();  // stopped
  if (!run.ranks().leads()) return OrderedJson::object();
  const bool sigmoid = config.labels == 1 && HONE_TRY(score_activation(config)) == "sigmoid";
  std::vector<std::string> predictions;
  for (int64_t i = 0; i < rows; ++i) {
    const auto own =
        std::span(kept.of(kLogits))
            .subspan(static_cast<size_t>(i * config.labels), static_cast<size_t>(config.labels));
    std::vector<std::string> numbers;
    for (const float x : own)
      numbers.push_back(fmt::format("{:.6f}", sigmoid ? 1 / (1 + std::exp(-x)) : x));
    predictions.push_back(join(numbers, " "));
  }
  HONE_TRY(write_predictions(folder, "rerank", predictions));
  return OrderedJson::object();
}

Status set_rerank_head(ModelConfig& config, int64_t labels) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < labels; ++i) names.push_back(fmt::format("LABEL_{}", i));
  return set_head(config, Head::sequence_classification, names);
}

Status take_training_pairs(const RerankSettings& s, const RerankEncoder& encoder,
                           RerankColumns& state, Pretrained& model, TextTables& tables,
                           RerankData& data, Examples& x) {
  const TableOfTexts& table = *tables.train;
  state = HONE_TRY(rerank_columns(s, table));
  const int64_t labels = rerank_labels(s, model.config, &table);
  HONE_TRY(check_classes(s, table, labels));
  HONE_TRY(set_rerank_head(model.config, labels));
  data.train = HONE_TRY(encoder.training_rows(table));
  tables.notes.push_back("train: " + describe(data.train, encoder.max_length));
  tables.notes.push_back("train: " + s.loss_of(state.texts));
  x.train_rows_read = data.train.rows.size();
  x.hash = hash_of(data.train);
  x.train.emplace(std::move(data.train.rows));
  return Ok{};
}

// Pairs to evaluate, then those to predict.
Status take_eval_pairs(const RerankEncoder& encoder, TextTables& tables, RerankData& data,
                       Examples& x) {
  if (tables.eval) {
    data.eval_table = std::move(*tables.eval);
    data.pairs = HONE_TRY(pairs_of(data.eval_table, true));
  }
  if (tables.test) {
    data.test_table = std::move(*tables.test);
    data.test = HONE_TRY(pairs_of(data.test_table, false));
  }
  for (const auto& [table, pairs] :
       {std::pair(&data.eval_table, &data.pairs), {&data.test_table, &data.test}})
    append_rows(data.eval, HONE_TRY(encoder.eval_rows(*table, *pairs)));
  x.eval.emplace(std::move(data.eval.rows));
  x.evaluated = std::ssize(data.pairs.queries);
  return Ok{};
}

Result<Examples> rerank_examples(const RerankPtr& s, const RerankStatePtr& state, Pretrained& model,
                                 const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  const RerankEncoder encoder = HONE_TRY(RerankEncoder::open(*s, model, source.pool));
  const LabelSources sources = HONE_TRY(text_sources(text_table_flags(*s)));
  TextTables tables = HONE_TRY(read_rerank_tables(*s, model, sources));
  const auto data = std::make_shared<RerankData>();
  Examples x;
  if (s->do_train) HONE_TRY(take_training_pairs(*s, encoder, *state, model, tables, *data, x));
  if (tables.eval || tables.test) HONE_TRY(take_eval_pairs(encoder, tables, *data, x));
  show_notes(schema_of(*s), tables.notes);

  const ModelConfig& config = model.config;
  x.collate = [data, &config](const CollatedRows& rows, Batch& to) -> Result<bool> {
    HONE_TRY(collate_text_rows(config, rows.data.axes[0],
                               rows.training() ? data->train : data->eval, rows.rows, to));
    return false;
  };
  x.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) { return plan.rows; };
  x.metrics = [s, data, labels = config.labels](int64_t) {
    const auto values = [s, data, labels](const RowOutputs& kept) {
      return evaluate_pairs(data->pairs, kept.of(kLogits), labels, s->example_scores.get());
    };
    return std::make_unique<RowOutputs>(
        std::vector<std::string>{kLogits},
        RowOutputs::Form{.rows = std::ssize(data->pairs.queries), .width = labels}, values);
  };
  x.predict = [data](TaskRun& run, const std::string& folder) {
    return predict_scores(*data, run, folder);
  };
  return x;
}

Status choose_rerank_head(const RerankSettings& s, RerankColumns& state, ModelConfig& config) {
  if (s.streaming)
    return Error(err::kStreaming, "rerankers read their rows into memory")
        .todo("leave --streaming out");
  HONE_TRY(set_rerank_head(config, rerank_labels(s, config, nullptr)));
  if (!s.do_train) return Ok{};
  const std::optional<TableOfTexts> first = HONE_TRY(first_training_row(text_table_flags(s)));
  if (first)
    state = HONE_TRY(rerank_columns(s, *first));
  else  // a plan without data
    state.texts = state.labels = s.loss == "MarginMSELoss" ? 2 : 1;
  return Ok{};
}

// A question on a ferry; the text of the right one, or of another.
OrderedJson sample_query(int i) {
  const SampleSentence asked = sample_sentence(i / 2), other = sample_sentence(i / 2 + 1);
  const bool right = i % 2 == 0;
  return {{"query", fmt::format("When does the ferry to {} leave?", asked.place)},
          {"text", (right ? asked : other).text()},
          {"label", right ? 1 : 0}};
}

}  // namespace

Task task_rerank() {
  const auto s = std::make_shared<RerankSettings>();
  const auto state = std::make_shared<RerankColumns>();
  Task t;
  t.name = "rerank";
  t.summary = "scores of texts for a query, by a cross-encoder";
  t.metric = "average_precision";
  t.metrics = [] {
    return std::vector<std::string>{"average_precision", "pearson", "spearman", "accuracy"};
  };
  t.metric_of_rows = [s] { return metric_of_rerank_rows(*s); };
  t.sample = SampleProject{.model = tiny_encoder("cross-encoder/ms-marco-MiniLM-L6-v2"),
                           .row = sample_query,
                           .flags = {{"max_seq_length", 160}}};
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.choose_head = [s, state](ModelConfig& config) {
    return choose_rerank_head(*s, *state, config);
  };
  t.form = [s, state](const Pretrained& model) -> Result<RunForm> {
    const int64_t texts = s->do_train ? state->texts : 1;
    return RunForm{.limits = {{kTokens, texts * s->pair_tokens(model.config), "max_seq_length",
                               s->max_seq_length}},
                   .replaces_head = s->ignore_mismatched_sizes};
  };
  t.program = [s, state](const auto&... a) { return rerank_program(*s, *state, a...); };
  t.examples = [s, state](Pretrained& model, const ExampleSource& source) {
    return rerank_examples(s, state, model, source);
  };
  t.predicts = true;
  t.prepared = rerank_source(s);
  t.check_rows = [s](const CheckRequest& request, Findings& findings) {
    return check_rerank(*s, request, findings);
  };
  return t;
}

}  // namespace hone
