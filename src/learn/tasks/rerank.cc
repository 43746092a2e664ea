// Rerankers: cross-encoders that give a pair of a query and a text a score, as sentence-transformers trains them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/settings/errors.h"
#include "base/store/store.h"
#include "learn/check/check_rows.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/selection.h"
#include "learn/harness/encode.h"
#include "learn/harness/errors.h"
#include "learn/harness/example_scores.h"
#include "learn/harness/run/task_run.h"
#include "learn/metrics/retrieval.h"
#include "learn/pretrained/sentence_modules.h"
#include "learn/tasks/rerank_loss.h"
#include "learn/tasks/text_graph.h"
#include "learn/tasks/text_rows.h"
#include "learn/tasks/text_shards.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

struct RerankSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/rerank_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { bind(schema); }
  int64_t pair_tokens(const ModelConfig& config) const {
    return max_seq_length > 0 ? std::min(max_seq_length, config.max_positions)
                              : config.max_positions;
  }
  TableOfTextsOptions table_options() const {
    return {.text_columns = text_column_names, .label_column = label_column_name};
  }
  Result<RowOptions> row_options() const {
    RowOptions options;
    options.format = data_format;
    options.column_names = column_names;
    options.encoding = HONE_TRY(encoding_of(encoding));
    return options;
  }
  std::string loss_of(int64_t texts) const {
    return !loss.empty() ? loss : texts > 1 ? "MarginMSELoss" : "BinaryCrossEntropyLoss";
  }
};
using RerankPtr = std::shared_ptr<RerankSettings>;

// Known after the columns of the rows are: shared by the functions of the task.
struct RerankState {
  int64_t texts = 1;   // for a query of a training row
  int64_t labels = 1;  // of a training row
};
using RerankStatePtr = std::shared_ptr<RerankState>;

Program rerank_program(const RerankSettings& s, const RerankState& state, const ModelConfig& config,
                       const BatchShape& shape, const std::string& name, bool train) {
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
    g.program.outputs.push_back({"logits", logits_of(g.b, layer)});
  }
  return std::move(g.program);
}

// The columns of training rows: their number, and that of the labels. Errors: H0210 the loss reads others.
Status take_rerank_columns(const RerankSettings& s, const TableOfTexts& table, RerankState& state) {
  state.texts = std::ssize(table.columns) - 1;
  state.labels = table.labels_of_row;
  const std::string loss = s.loss_of(state.texts);
  const bool margins = loss == "MarginMSELoss";
  HONE_TRY(expect_single_texts(table));
  const bool fits =
      margins ? state.texts >= 2 && (state.labels == state.texts || state.labels == state.texts - 1)
              : state.texts == 1 && state.labels == 1;
  if (fits) return Ok{};
  return Error(err::kSettingBounds,
               fmt::format("{} reads {}; the rows have {} columns of texts and {} labels", loss,
                           margins ? "a query, a positive, negatives and a score for each text"
                                   : "a query, a text and a label",
                           table.columns.size(), state.labels))
      .at("--loss")
      .todo(
          "name the columns with --text_column_names and --label_column_name, or choose another "
          "loss");
}

Result<LabelSources> rerank_sources(const RerankSettings& s) {
  LabelSourceRequest r = named_sources(s, s.test_file);
  r.glue = false;
  return find_label_sources(r);
}

Result<OrderedJson> rerank_shard_settings(const RerankSettings& s, const Pretrained& model,
                                          bool all) {
  OrderedJson j;
  j["task"] = "rerank";
  j["tokenizer"] = tokenizer_hash(*HONE_TRY(tokenizer_of(model)));
  add_row_settings(schema_of(s), {{"max_seq_length", s.pair_tokens(model.config)}}, all, j);
  return j;
}

// Pairs of a query and a text, one a row; samples are queries with several of them.
struct RerankPairs {
  std::vector<std::string_view> queries, texts;
  std::vector<std::string> places;
  std::vector<float> labels;      // of each pair, or empty
  int64_t rows = 0;               // of the table
  std::vector<size_t> sample_of;  // of each pair: equal queries are one sample
  std::vector<int64_t> of_row;    // the number of pairs of each row of the table

  void add(const std::string& query, const std::string& text, const std::string& place) {
    queries.push_back(query);
    texts.push_back(text);
    places.push_back(place);
  }
};

// Rows of a query, positives and negatives are pairs with the labels 1 and 0. The table outlives the pairs.
Result<RerankPairs> pairs_of(const TableOfTexts& table, bool labelled) {
  RerankPairs out;
  out.rows = table.rows();
  const size_t columns = table.columns.size();
  if (columns < 2 || table.has_lists(0))
    return Error(err::kCellType, "the rows have no query and text")
        .at(table.places[0])
        .todo("name the two columns with --text_column_names");
  const bool by_column = table.label_column.empty() || table.labels_of_row != 1;
  if (labelled && by_column && columns < 3)
    return Error(err::kLabel, "the rows have no label")
        .at(table.places[0])
        .todo(
            "name their column with --label_column_name, or give a query, positives and negatives");
  for (size_t i = 0; i < static_cast<size_t>(out.rows); ++i) {
    const auto before = std::ssize(out.queries);
    for (size_t c = 1; c < (by_column && labelled ? columns : 2); ++c)
      for (const std::string& text : table.texts_of(c, i)) {
        out.add(table.texts[0][i], text, table.places[i]);
        if (labelled) out.labels.push_back(by_column ? (c == 1 ? 1.0f : 0.0f) : table.labels[i]);
      }
    out.of_row.push_back(std::ssize(out.queries) - before);
  }
  std::map<std::string_view, size_t> samples;
  for (const std::string_view query : out.queries)
    out.sample_of.push_back(samples.try_emplace(query, samples.size()).first->second);
  return out;
}

bool is_binary(const RerankPairs& pairs) {
  return std::all_of(pairs.labels.begin(), pairs.labels.end(),
                     [](float y) { return y == 0 || y == 1; });
}

OrderedJson rerank_values(const RerankPairs& pairs, std::span<const float> scores) {
  OrderedJson out;
  const bool binary = is_binary(pairs);
  std::vector<uint8_t> answers;
  for (const float y : pairs.labels) answers.push_back(binary && y == 1);
  if (binary) {
    out["average_precision"] = average_precision(scores.first(answers.size()), answers);
    std::map<size_t, std::pair<std::vector<float>, std::vector<uint8_t>>> samples;
    for (size_t i = 0; i < answers.size(); ++i) {
      auto& [own_scores, own_answers] = samples[pairs.sample_of[i]];
      own_scores.push_back(scores[i]);
      own_answers.push_back(answers[i]);
    }
    RerankingMetrics ranking;
    for (const auto& [number, sample] : samples) ranking.add(sample.first, sample.second);
    if (ranking.queries() > 0)
      for (const MetricValue& v : ranking.values()) out[v.name] = v.value;
  } else {
    for (const MetricValue& v : correlations(scores.first(pairs.labels.size()), pairs.labels))
      out[v.name] = v.value;
  }
  out["samples"] = pairs.rows;
  return out;
}

// Keeps the logits of the rows from `first` on.
class RerankEvaluation : public EvalMetrics {
 public:
  RerankEvaluation(int64_t first, int64_t rows, int64_t labels,
                   std::function<OrderedJson(std::span<const float>)> values)
      : first_(first),
        labels_(static_cast<size_t>(labels)),
        logits_(static_cast<size_t>(rows * labels)),
        values_(std::move(values)) {}

  bool add(const CollatedRows& rows, const Batch& outputs) override {
    const auto all = outputs.get<const float>("logits");
    for (size_t q = 0; q < rows.rows.rows.size(); ++q) {
      const auto own = all.subspan(q * labels_, labels_);
      if (!std::all_of(own.begin(), own.end(), [](float x) { return std::isfinite(x); }))
        return false;
      const auto row = static_cast<size_t>(rows.rows.rows[q] - first_);
      std::copy(own.begin(), own.end(),
                logits_.begin() + static_cast<std::ptrdiff_t>(row * labels_));
    }
    return true;
  }
  double loss() const override { return std::numeric_limits<double>::quiet_NaN(); }
  OrderedJson values(int64_t) const override { return values_(logits_); }
  std::span<const float> logits() const { return logits_; }

 private:
  int64_t first_;
  size_t labels_;
  std::vector<float> logits_;
  std::function<OrderedJson(std::span<const float>)> values_;
};

struct RerankData {
  TableOfTexts eval_table, test_table;
  TextRows train, eval;
  RerankPairs pairs, test;
};

// Class by class: the share of pairs whose largest logit is that of their label.
OrderedJson class_values(const RerankData& data, std::span<const float> logits, int64_t labels) {
  int64_t right = 0;
  for (size_t i = 0; i < data.pairs.labels.size(); ++i) {
    const auto own = logits.subspan(i * static_cast<size_t>(labels), static_cast<size_t>(labels));
    const auto best = std::max_element(own.begin(), own.end()) - own.begin();
    right += static_cast<float>(best) == data.pairs.labels[i];
  }
  return {{"accuracy", static_cast<double>(right) /
                           static_cast<double>(std::max<size_t>(data.pairs.labels.size(), 1))},
          {"samples", data.pairs.rows}};
}

// A row for each pair.
void add_rerank_examples(const RerankPairs& pairs, std::span<const float> logits, int64_t labels,
                         ExampleScores& to) {
  for (size_t i = 0; i < pairs.labels.size(); ++i) {
    const auto own = logits.subspan(i * static_cast<size_t>(labels), static_cast<size_t>(labels));
    const float wanted = pairs.labels[i];
    const auto best = std::max_element(own.begin(), own.end()) - own.begin();
    OrderedJson scores = {{"predicted", own[0]}, {"wanted", wanted}};
    if (labels > 1) scores = {{"accuracy", static_cast<float>(best) == wanted ? 1 : 0}};
    to.add(static_cast<int64_t>(i), {{"prediction", labels > 1 ? static_cast<float>(best) : own[0]},
                                     {"reference", wanted},
                                     {"scores", scores}});
  }
}

Result<OrderedJson> predict_scores(const std::shared_ptr<const RerankData>& data, TaskRun& run,
                                   const std::string& folder) {
  const ModelConfig& config = run.model().config;
  const int64_t begin = std::ssize(data->pairs.queries), rows = std::ssize(data->test.queries);
  RerankEvaluation kept(begin, rows, config.labels, nullptr);
  if (HONE_TRY(run.evaluate_rows(begin, begin + rows, kept)) < 0)
    return OrderedJson::object();  // stopped
  if (!run.ranks().leads()) return OrderedJson::object();
  const bool sigmoid = config.labels == 1 && HONE_TRY(score_activation(config)) == "sigmoid";
  std::string text = "index\tprediction\n";
  for (int64_t i = 0; i < rows; ++i) {
    const auto own = kept.logits().subspan(static_cast<size_t>(i * config.labels),
                                           static_cast<size_t>(config.labels));
    std::vector<std::string> numbers;
    for (const float x : own)
      numbers.push_back(fmt::format("{:.6f}", sigmoid ? 1 / (1 + std::exp(-x)) : x));
    text += fmt::format("{}\t{}\n", i, join(numbers, " "));
  }
  const std::string file = folder + "/predict_results_rerank.txt";
  HONE_TRY(file_store().write(file, text));
  log_info("{:<11} {}", "predicted", file);
  return OrderedJson::object();
}

Result<TextRows> encode_pairs(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                              std::span<const std::string_view> queries,
                              std::span<const std::string_view> texts,
                              std::span<const std::string> places) {
  TextsToEncode columns;
  columns.first.emplace_back(queries.begin(), queries.end());
  columns.second.emplace_back(texts.begin(), texts.end());
  return encode_text_rows(tokenizer, pool, max_length, columns, places);
}

Result<TextRows> encode_training_pairs(const Tokenizer& tokenizer, ThreadPool& pool,
                                       int64_t max_length, const TableOfTexts& table) {
  TextsToEncode columns;
  for (size_t c = 1; c < table.columns.size() && !table.is_prepared(); ++c) {
    columns.first.emplace_back(table.texts[0].begin(), table.texts[0].end());
    columns.second.emplace_back(table.texts[c].begin(), table.texts[c].end());
  }
  TextRows rows = HONE_TRY(
      table.is_prepared() ? rows_of_tokens(table, std::ssize(table.columns) - 1)
                          : encode_text_rows(tokenizer, pool, max_length, columns, table.places));
  rows.labels_of_row = table.labels_of_row;
  rows.labels = table.labels;
  return rows;
}

struct RerankTables {
  std::optional<TableOfTexts> train, eval, test;
  std::vector<std::string> notes;
};

// `split`: "train". At most `most` rows; < 0: all.
Result<TableOfTexts> read_rerank_table(const RerankSettings& s, const Pretrained& model,
                                       const char* split, const std::vector<std::string>& patterns,
                                       const TableOfTextsOptions& wanted, int64_t most = -1) {
  if (is_shard_folder(patterns[0]))
    return open_text_shards(
        patterns[0],
        HONE_TRY(checked_shards(patterns, HONE_TRY(rerank_shard_settings(s, model, false)))), split,
        most);
  return read_text_table(HONE_TRY(expand_files(patterns, split)), HONE_TRY(s.row_options()), wanted,
                         most);
}

Result<RerankTables> read_rerank_tables(const RerankSettings& s, const Pretrained& model) {
  RerankTables out;
  const LabelSources sources = HONE_TRY(rerank_sources(s));
  out.notes = sources.notes;
  TableOfTextsOptions wanted = s.table_options();
  const bool splits = s.do_eval && sources.validation.empty();
  if (!sources.train.empty())
    out.train = HONE_TRY(read_rerank_table(s, model, "train", sources.train, wanted,
                                           splits ? -1 : s.max_train_samples));
  if (splits) {
    const int64_t rows = out.train->rows(),
                  kept = HONE_TRY(keep_for_validation(rows, s.validation_split_percentage,
                                                      s.do_train, out.notes));
    out.eval = out.train;
    out.eval->keep(0, kept);
    out.train->keep(kept, rows);
  } else if (s.do_eval) {
    out.eval = HONE_TRY(read_rerank_table(s, model, "validation", sources.validation, wanted));
  }
  if (out.train)
    out.train->keep(0, HONE_TRY(selected_rows(out.train->rows(), s.max_train_samples,
                                              s.fraction_of_train_data)));
  if (out.eval) out.eval->keep(0, HONE_TRY(selected_rows(out.eval->rows(), s.max_eval_samples, 1)));
  wanted.wants_label = false;
  if (s.do_predict)
    out.test =
        HONE_TRY(read_rerank_table(s, model, "test", sources.test, wanted, s.max_predict_samples));
  for (const auto& [name, table] :
       {std::pair("train", &out.train), {"validation", &out.eval}, {"test", &out.test}})
    if (*table) out.notes.push_back(fmt::format("{}: {}", name, (*table)->note));
  return out;
}

// The scores of a pair: one, or the classes of CrossEntropyLoss.
int64_t rerank_labels(const RerankSettings& s, const ModelConfig& config,
                      const TableOfTexts* table) {
  if (s.loss != "CrossEntropyLoss") {
    const bool classes = table == nullptr && !s.do_train && config.labels > 1;
    return classes ? config.labels : 1;
  }
  if (s.num_labels > 0) return s.num_labels;
  if (table == nullptr || table->labels.empty()) return config_labels(config);
  return static_cast<int64_t>(*std::max_element(table->labels.begin(), table->labels.end())) + 1;
}

Status set_rerank_head(ModelConfig& config, int64_t labels) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < labels; ++i) names.push_back(fmt::format("LABEL_{}", i));
  return set_head(config, Head::sequence_classification, names);
}

// Labels of CrossEntropyLoss are numbers of classes.
Status check_classes(const TableOfTexts& table, int64_t classes) {
  for (size_t i = 0; i < table.labels.size(); ++i) {
    const float y = table.labels[i];
    if (y == std::floor(y) && y >= 0 && y < static_cast<float>(classes)) continue;
    return Error(err::kLabel, fmt::format("{:g} is not one of the classes 0 to {}", y, classes - 1))
        .at(table.places[i])
        .todo("number the classes from 0, and give their number with --num_labels");
  }
  return Ok{};
}

Status take_training_pairs(const RerankSettings& s, RerankState& state, Pretrained& model,
                           ThreadPool& pool, int64_t max_length, RerankTables& tables,
                           RerankData& data, Examples& x) {
  const TableOfTexts& table = *tables.train;
  HONE_TRY(take_rerank_columns(s, table, state));
  const int64_t labels = rerank_labels(s, model.config, &table);
  if (s.loss == "CrossEntropyLoss") HONE_TRY(check_classes(table, labels));
  HONE_TRY(set_rerank_head(model.config, labels));
  data.train = HONE_TRY(encode_training_pairs(*model.tokenizer, pool, max_length, table));
  tables.notes.push_back("train: " + describe(data.train, max_length));
  tables.notes.push_back("train: " + s.loss_of(state.texts));
  x.train_rows_read = data.train.rows.size();
  x.hash = data.train.rows.hash();
  for (const float label : data.train.labels)
    x.hash = fnv1a(x.hash, uint64_t{std::bit_cast<uint32_t>(label)});
  x.train.emplace(std::move(data.train.rows));
  return Ok{};
}

// A row for each pair.
Result<TextRows> encode_eval_pairs(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                                   const TableOfTexts& table, const RerankPairs& pairs) {
  if (!table.is_prepared())
    return encode_pairs(tokenizer, pool, max_length, pairs.queries, pairs.texts, pairs.places);
  TextRows rows = HONE_TRY(rows_of_tokens(table, 0));
  if (rows.rows.size() == std::ssize(pairs.queries)) return rows;
  return other_sequences(table, rows.rows.size(), std::ssize(pairs.queries));
}

// Pairs to evaluate, then those to predict.
Status take_eval_pairs(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                       RerankTables& tables, RerankData& data, Examples& x) {
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
    append_rows(data.eval,
                HONE_TRY(encode_eval_pairs(tokenizer, pool, max_length, *table, *pairs)));
  x.eval.emplace(std::move(data.eval.rows));
  x.evaluated = std::ssize(data.pairs.queries);
  return Ok{};
}

Result<Examples> rerank_examples(const RerankPtr& s, const RerankStatePtr& state, Pretrained& model,
                                 const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
  const int64_t max_length = s->pair_tokens(model.config);
  RerankTables tables = HONE_TRY(read_rerank_tables(*s, model));
  const auto data = std::make_shared<RerankData>();
  Examples x;
  if (s->do_train)
    HONE_TRY(take_training_pairs(*s, *state, model, source.pool, max_length, tables, *data, x));
  if (tables.eval || tables.test)
    HONE_TRY(take_eval_pairs(tokenizer, source.pool, max_length, tables, *data, x));
  show_notes(schema_of(*s), tables.notes);

  const ModelConfig& config = model.config;
  x.collate = [data, &config](const CollatedRows& rows, Batch& to) -> Result<bool> {
    HONE_TRY(collate_text_rows(config, rows.data.axes[0],
                               rows.training() ? data->train : data->eval, rows.rows, to));
    return false;
  };
  x.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) { return plan.rows; };
  x.metrics = [s, data, labels = config.labels](int64_t) {
    return std::make_unique<RerankEvaluation>(
        0, std::ssize(data->pairs.queries), labels,
        [s, data, labels](std::span<const float> logits) {
          if (ExampleScores* examples = s->example_scores.get())
            add_rerank_examples(data->pairs, logits, labels, *examples);
          return labels == 1 ? rerank_values(data->pairs, logits)
                             : class_values(*data, logits, labels);
        });
  };
  x.predict = [data](TaskRun& run, const std::string& folder) {
    return predict_scores(data, run, folder);
  };
  return x;
}

Status choose_rerank_head(const RerankSettings& s, RerankState& state, ModelConfig& config) {
  if (s.streaming)
    return Error(err::kStreaming, "rerankers read their rows into memory")
        .todo("leave --streaming out");
  HONE_TRY(set_rerank_head(config, rerank_labels(s, config, nullptr)));
  if (!s.do_train) return Ok{};
  if (s.train_file.empty() && s.dataset_name.empty()) {  // a plan without data
    const bool margins = s.loss == "MarginMSELoss";
    state.texts = state.labels = margins ? 2 : 1;
    return Ok{};
  }
  const LabelSources sources = HONE_TRY(rerank_sources(s));
  const TableOfTexts first =
      HONE_TRY(is_shard_folder(sources.train[0])
                   ? peek_text_shards(sources.train[0], "train")
                   : peek_text_table(HONE_TRY(expand_files(sources.train, "train")),
                                     HONE_TRY(s.row_options()), s.table_options()));
  return take_rerank_columns(s, first, state);
}

// The metrics that evaluated pairs with such labels give.
std::vector<std::string> metrics_of_pairs(const RerankSettings& s, const RerankPairs& pairs) {
  if (s.loss == "CrossEntropyLoss") return {"accuracy"};
  std::vector<std::string> names{"pearson", "spearman"};
  if (is_binary(pairs)) names.insert(names.begin(), "average_precision");
  return names;
}

// By the labels of the first evaluated rows.
Result<std::string> metric_of_rerank_rows(const RerankSettings& s) {
  constexpr int64_t kLooked = 1000;
  const LabelSources sources = HONE_TRY(rerank_sources(s));
  const std::vector<std::string> files = HONE_TRY(
      expand_files(sources.validation.empty() ? sources.train : sources.validation, "validation"));
  const TableOfTexts table =
      HONE_TRY(read_text_table(files, HONE_TRY(s.row_options()), s.table_options(), kLooked));
  return metrics_of_pairs(s, HONE_TRY(pairs_of(table, true))).front();
}

// Evaluated rows: their tokens, those that are cut, and the metrics that they give.
Status check_evaluated_pairs(const RerankSettings& s, const CheckRequest& request,
                             const TableOfTexts& table, RowsReport& report, Findings& findings) {
  const int64_t most = s.pair_tokens(request.model.config);
  const RerankPairs pairs = HONE_TRY(pairs_of(table, true));
  const TextRows rows = HONE_TRY(
      encode_eval_pairs(*HONE_TRY(tokenizer_of(request.model)), request.pool, most, table, pairs));
  report.metrics = metrics_of_pairs(s, pairs);
  report.eval.rows = report.eval.sequences = table.rows();
  report.eval.counts.tokens_read = rows.rows.tokens();
  std::vector<int32_t> cut;  // prepared rows do not know it
  if (!rows.cut.empty()) cut = sums_of_runs(rows.cut, pairs.of_row);
  tell_cut_rows("validation", cut, table.places, most, report.eval, findings);
  return Ok{};
}

RowsReport check_rerank(const RerankPtr& s, const CheckRequest& request, Findings& findings) {
  RowsReport report;
  const auto read = [&]() -> Status {
    const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(request.model));
    RerankTables tables = HONE_TRY(read_rerank_tables(*s, request.model));
    request.notes = tables.notes;
    if (!tables.train) return Ok{};
    RerankState state;
    HONE_TRY(take_rerank_columns(*s, *tables.train, state));
    const TextRows rows = HONE_TRY(encode_training_pairs(
        tokenizer, request.pool, s->pair_tokens(request.model.config), *tables.train));
    report.train.rows = report.train.sequences = rows.rows.size();
    report.train.counts.tokens_read = rows.rows.tokens();
    tell_cut_rows("train", rows.cut, tables.train->places, s->pair_tokens(request.model.config),
                  report.train, findings);
    if (tables.eval) HONE_TRY(check_evaluated_pairs(*s, request, *tables.eval, report, findings));
    for (int64_t i = 0; i < std::min(request.samples, rows.rows.size()); ++i) {
      const auto ids = rows.rows.row(i);
      report.samples.push_back(
          {{ids.begin(), ids.end()}, {}, fmt::format("{:g}", rows.labels_of(i)[0]), {}, {}});
    }
    return Ok{};
  };
  if (const Status done = read(); !done.ok()) findings.add(done.error());
  return report;
}

// For hone prepare: the pairs of training rows, and those of an evaluation or prediction.
Result<std::vector<RowSplit>> rerank_splits(const RerankSettings& s, const Pretrained& model,
                                            ThreadPool& pool, std::vector<std::string>& notes) {
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
  const int64_t most = s.pair_tokens(model.config);
  RerankTables tables = HONE_TRY(read_rerank_tables(s, model));
  notes = tables.notes;
  std::vector<RowSplit> splits;
  if (tables.train) {
    RerankState state;
    HONE_TRY(take_rerank_columns(s, *tables.train, state));
    splits.push_back(text_shards_of(
        "train", *tables.train,
        HONE_TRY(encode_training_pairs(tokenizer, pool, most, *tables.train)),
        std::vector<int64_t>(static_cast<size_t>(tables.train->rows()), state.texts)));
  }
  for (const auto& [name, table] :
       {std::pair("validation", &tables.eval), {"test", &tables.test}}) {
    if (!*table) continue;
    const RerankPairs pairs = HONE_TRY(pairs_of(**table, table == &tables.eval));
    splits.push_back(text_shards_of(
        name, **table, HONE_TRY(encode_eval_pairs(tokenizer, pool, most, **table, pairs)),
        pairs.of_row));
  }
  return splits;
}

PreparedSource rerank_source(const RerankPtr& s) {
  return {
      .choose_splits = [s] { want_named_splits(*s, s->test_file); },
      .sources = [s] { return rerank_sources(*s); },
      .shard_settings =
          [s](const Pretrained& model) { return rerank_shard_settings(*s, model, true); },
      .splits =
          [s](const Pretrained& model, const LabelSources&, ThreadPool& pool,
              std::vector<std::string>& notes) { return rerank_splits(*s, model, pool, notes); }};
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
  const auto state = std::make_shared<RerankState>();
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
    return check_rerank(s, request, findings);
  };
  return t;
}

#define HONE_BIND RerankSettings::bind
#define HONE_SETTINGS "learn/tasks/rerank_settings.def"
namespace {
#include "base/settings/bind.inc"
}  // namespace

}  // namespace hone
