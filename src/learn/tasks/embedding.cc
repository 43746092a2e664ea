// Embeddings of texts, as sentence-transformers trains them: pairs, triplets, pairs with a score.
#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/check/check_rows.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/selection.h"
#include "learn/harness/encode.h"
#include "learn/harness/errors.h"
#include "learn/harness/run/task_run.h"
#include "learn/models/embed_texts.h"
#include "learn/tasks/embedding_evaluation.h"
#include "learn/tasks/embedding_order.h"
#include "learn/tasks/text_graph.h"
#include "learn/tasks/text_shards.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

using SettingsPtr = std::shared_ptr<EmbeddingSettings>;

// Known after the columns of the rows are: shared by the functions of the task.
struct EmbeddingState {
  int64_t texts = 2;  // of a training row
  const TextLoss* loss = find_text_loss("MultipleNegativesRankingLoss");
  SentenceModules modules;
  TaskRun* run = nullptr;  // while it trains
};
using StatePtr = std::shared_ptr<EmbeddingState>;

int64_t width_of(const ModelConfig& config) { return config.embedding->width(config.hidden); }

ValueId loss_of_rows(Builder& b, const EmbeddingSettings& s, const EmbeddingState& state,
                     ValueId embeddings, ValueId labels, ValueId weight, ValueId scale) {
  const int64_t width = b.type(embeddings).shape[1];
  const Result<Matryoshka> parts = s.matryoshka(width);
  HONE_BUG_IF(!parts.ok(), "{}", parts.error().text());
  return build_text_loss(b, *state.loss,
                         {.columns = columns_of(b, embeddings, state.texts),
                          .labels = labels,
                          .weight = weight,
                          .scale = scale},
                         s.loss_options(*state.loss), *parts);
}

// The body and embeddings of a micro-batch; evaluation has one text a row.
enum class Part { whole, embed, gradient, evaluation };
Program embedding_program(const EmbeddingSettings& s, const EmbeddingState& state, Part part,
                          const ModelConfig& config, const BatchShape& shape,
                          const std::string& name) {
  const bool train = part != Part::evaluation;
  TextGraph g(config, shape, name, train, train ? state.texts : 1, 1, part == Part::whole);
  const ValueId embeddings = embed_texts(g.model, g.segments);
  if (part == Part::embed || part == Part::evaluation) {
    g.program.outputs.push_back({"embeddings", embeddings});
    return std::move(g.program);
  }
  ValueId loss = kNoValue;
  if (part == Part::whole) {
    loss = loss_of_rows(g.b, s, state, embeddings, g.labels, g.weight, g.scale);
  } else {
    const Type type = g.b.type(embeddings);
    const ValueId gradient = g.program.add_input("gradient", type);
    loss = ops::reduce_sum(g.b, ops::mul(g.b, embeddings, gradient), {0, 1});
  }
  g.program.outputs.push_back({"loss", loss});
  return std::move(g.program);
}

// The loss of all rows of a step by their embeddings.
Program joint_program(const EmbeddingSettings& s, const EmbeddingState& state,
                      const ModelConfig& config, int64_t rows, const std::string& name) {
  Program p(op_table(), name);
  Builder b(p);
  State embeddings;
  embeddings.name = "embeddings";
  embeddings.trainable = true;
  const ValueId x =
      p.add_state(std::move(embeddings), {DType::f32, {rows * state.texts, width_of(config)}});
  const ValueId labels = p.add_input("labels", {DType::f32, {rows}}),
                weight = p.add_input("weight", {DType::f32, {rows}}),
                scale = p.add_input("scale", {DType::f32, {}});
  p.outputs.push_back({"loss", loss_of_rows(b, s, state, x, labels, weight, scale)});
  return p;
}

struct EmbeddingSplits {
  std::optional<TableOfTexts> train, eval, test;
  std::vector<std::string> notes;
};

// The prompts of a model's folder are in prepared rows too.
Result<OrderedJson> embedding_shard_settings(const EmbeddingSettings& s, const Pretrained& model,
                                             bool all) {
  const SentenceModules modules = HONE_TRY(s.modules_of(model.path));
  OrderedJson j;
  j["task"] = "embedding";
  j["tokenizer"] = tokenizer_hash(*HONE_TRY(tokenizer_of(model)));
  j["model_prompts"] = modules.prompts;
  j["default_prompt_name"] = modules.default_prompt_name;
  add_row_settings(schema_of(s), {{"max_seq_length", s.text_tokens(modules, model.config)}}, all,
                   j);
  return j;
}

// `split`: "train". At most `most` rows; < 0: all.
Result<TableOfTexts> read_embedding_table(const EmbeddingSettings& s, const Pretrained& model,
                                          const char* split,
                                          const std::vector<std::string>& patterns,
                                          const TableOfTextsOptions& wanted, int64_t most = -1) {
  if (is_shard_folder(patterns[0]))
    return open_text_shards(
        patterns[0],
        HONE_TRY(checked_shards(patterns, HONE_TRY(embedding_shard_settings(s, model, false)))),
        split, most);
  return read_text_table(HONE_TRY(expand_files(patterns, split)), HONE_TRY(s.row_options()), wanted,
                         most);
}

Result<EmbeddingSplits> read_embedding_tables(const EmbeddingSettings& s, const Pretrained& model,
                                              const LabelSources& sources) {
  EmbeddingSplits out;
  out.notes = sources.notes;
  const TableOfTextsOptions wanted = s.table_options();
  const bool splits = s.do_eval && sources.validation.empty();
  if (!sources.train.empty())
    out.train = HONE_TRY(read_embedding_table(s, model, "train", sources.train, wanted,
                                              splits ? -1 : s.max_train_samples));
  // Training rows and those of an evaluation have other prompts.
  if (splits && out.train->is_prepared())
    return Error(err::kSplit, "a share of prepared training rows cannot be evaluated")
        .at("--validation_split_percentage")
        .todo("give hone prepare the percentage, and its folder as --validation_file too");
  if (splits) {
    const int64_t rows = out.train->rows(),
                  kept = HONE_TRY(keep_for_validation(rows, s.validation_split_percentage,
                                                      s.do_train, out.notes));
    out.eval = out.train;
    out.eval->keep(0, kept);
    out.train->keep(kept, rows);
  } else if (s.do_eval && s.corpus_file.empty()) {
    out.eval = HONE_TRY(read_embedding_table(s, model, "validation", sources.validation, wanted));
  }
  if (out.train) {
    const int64_t rows = out.train->rows();
    out.train->keep(0,
                    HONE_TRY(selected_rows(rows, s.max_train_samples, s.fraction_of_train_data)));
    out.notes.push_back("train: " + out.train->note);
  }
  if (out.eval) {
    out.eval->keep(0, HONE_TRY(selected_rows(out.eval->rows(), s.max_eval_samples, 1)));
    out.notes.push_back("validation: " + out.eval->note);
  }
  if (s.do_predict) {
    TableOfTextsOptions pairs = wanted;
    pairs.wants_label = false;
    out.test = HONE_TRY(
        read_embedding_table(s, model, "test", sources.test, pairs, s.max_predict_samples));
    out.notes.push_back("test: " + out.test->note);
  }
  return out;
}

Result<LabelSources> embedding_sources(const EmbeddingSettings& s) {
  LabelSourceRequest r = named_sources(s, s.test_file);
  r.glue = false;
  return find_label_sources(r);
}

// The training rows as ids, with the prompts of their columns.
Result<TextRows> encode_training_rows(const EmbeddingSettings& s, const Tokenizer& tokenizer,
                                      ThreadPool& pool, int64_t max_length,
                                      const TableOfTexts& table) {
  TextsToEncode columns;
  std::vector<std::vector<std::string>> prompted(table.columns.size());
  for (size_t c = 0; c < table.columns.size() && !table.is_prepared(); ++c) {
    const std::string prompt = HONE_TRY(s.prompt_of(table.columns[c]));
    if (!prompt.empty())
      for (const std::string& text : table.texts[c]) prompted[c].push_back(prompt + text);
    const std::vector<std::string>& texts = prompt.empty() ? table.texts[c] : prompted[c];
    columns.first.emplace_back(texts.begin(), texts.end());
  }
  TextRows rows = HONE_TRY(
      table.is_prepared() ? rows_of_tokens(table, std::ssize(table.columns))
                          : encode_text_rows(tokenizer, pool, max_length, columns, table.places));
  rows.labels_of_row = std::min<int64_t>(table.labels_of_row, 1);
  if (rows.labels_of_row == table.labels_of_row) rows.labels = table.labels;
  return rows;
}

// One text a row.
Result<TextRows> encode_single_texts(const Tokenizer& tokenizer, ThreadPool& pool,
                                     int64_t max_length, const std::vector<std::string>& texts) {
  TextsToEncode columns;
  columns.first.emplace_back(texts.begin(), texts.end());
  const std::vector<std::string> places(texts.size());
  return encode_text_rows(tokenizer, pool, max_length, columns, places);
}

// The texts of a prepared table, one a row; `texts`: some of them, by their numbers.
Result<TextRows> find_single_texts(const TableOfTexts& table,
                                   const std::vector<std::string>& texts) {
  const TextRows all = HONE_TRY(rows_of_tokens(table, 0));
  std::unordered_map<std::string_view, int64_t> places;
  int64_t next = 0;
  for (size_t i = 0; i < static_cast<size_t>(table.rows()); ++i)
    for (size_t c = 0; c < table.columns.size(); ++c)
      for (const std::string& text : table.texts_of(c, i)) places.try_emplace(text, next++);
  if (next != all.rows.size()) return other_sequences(table, all.rows.size(), next);
  TextRows out;
  for (const std::string& text : texts) {
    const int64_t row = places.at(text);
    out.rows.add(all.rows.row(row));
    out.lengths.push_back(all.lengths[static_cast<size_t>(row)]);
  }
  return out;
}

// Keeps the embeddings of the rows from `first` on.
class EmbeddingEvaluation : public EvalMetrics {
 public:
  EmbeddingEvaluation(int64_t first, int64_t rows, int64_t width,
                      std::function<OrderedJson(std::span<const float>)> values)
      : first_(first),
        width_(static_cast<size_t>(width)),
        embeddings_(static_cast<size_t>(rows * width)),
        values_(std::move(values)) {}

  bool add(const CollatedRows& rows, const Batch& outputs) override {
    const auto all = outputs.get<const float>("embeddings");
    for (size_t q = 0; q < rows.rows.rows.size(); ++q) {
      const auto own = all.subspan(q * width_, width_);
      if (!std::all_of(own.begin(), own.end(), [](float x) { return std::isfinite(x); }))
        return false;
      const auto row = static_cast<size_t>(rows.rows.rows[q] - first_);
      std::copy(own.begin(), own.end(),
                embeddings_.begin() + static_cast<std::ptrdiff_t>(row * width_));
    }
    return true;
  }
  double loss() const override { return std::numeric_limits<double>::quiet_NaN(); }
  OrderedJson values(int64_t) const override { return values_(embeddings_); }
  std::span<const float> embeddings() const { return embeddings_; }

 private:
  int64_t first_;
  size_t width_;
  std::vector<float> embeddings_;
  std::function<OrderedJson(std::span<const float>)> values_;
};

// The prompt of a column: of the flag; for queries and their texts that of the model.
Result<std::string> eval_prompt(const EmbeddingSettings& s, const SentenceModules& modules,
                                const std::string& column) {
  const std::string given = HONE_TRY(s.prompt_of(column));
  if (!given.empty()) return given;
  const auto own = modules.prompts.find(column);
  if ((column == "query" || column == "document") && own != modules.prompts.end())
    return own->second;
  return modules.prompt("");
}

struct EmbeddingData {
  TextRows train, eval;
  EmbeddingEvalSet set;
  std::optional<TableOfTexts> test;
  std::vector<int32_t> test_texts;  // two for each row to predict
  int64_t evaluated = 0;            // texts of the evaluation; those to predict come after them
};

Result<OrderedJson> predict_similarities(const std::shared_ptr<const EmbeddingData>& data,
                                         const StatePtr& state, TaskRun& run,
                                         const std::string& folder) {
  const int64_t begin = data->evaluated, end = begin + std::ssize(data->test_texts),
                width = width_of(run.model().config);
  EmbeddingEvaluation kept(begin, end - begin, width, nullptr);
  if (HONE_TRY(run.evaluate_rows(begin, end, kept)) < 0) return OrderedJson::object();  // stopped
  if (!run.ranks().leads()) return OrderedJson::object();
  std::string text = "index\tprediction\n";
  for (int64_t i = 0; i < data->test->rows(); ++i) {
    const auto pair = std::span(data->test_texts).subspan(static_cast<size_t>(2 * i), 2);
    text += fmt::format(
        "{}\t{:.6f}\n", i,
        similarity_of(kept.embeddings(), width, state->modules.similarity, pair[0], pair[1]));
  }
  const std::string file = folder + "/predict_results_embedding.txt";
  HONE_TRY(file_store().write(file, text));
  log_info("{:<11} {}", "predicted", file);
  return OrderedJson::object();
}

// Files of sentence-transformers beside the model's.
Status save_modules(const EmbeddingState& state, const std::string& folder, int64_t hidden) {
  HONE_TRY(write_sentence_modules(folder, state.modules, hidden));
  for (const EmbeddingDense& dense : state.modules.form.dense) {
    HONE_BUG_IF(state.run == nullptr, "no run holds the weights of {}", dense.folder);
    Session& session = state.run->session();
    const std::string at = dense.folder + ".linear.";
    const std::vector<float> weight = session.state_values<float>(at + "weight");
    const std::vector<float> bias =
        dense.bias ? session.state_values<float>(at + "bias") : std::vector<float>();
    HONE_TRY(write_dense(folder, dense, weight, bias));
  }
  return Ok{};
}

// Texts to evaluate and to predict, after one another.
Status read_eval_texts(const EmbeddingSettings& s, const LabelSources& sources,
                       const SentenceModules& modules, EmbeddingSplits& tables,
                       const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                       EmbeddingData& data) {
  const PromptOf prompt = [&](const std::string& column) {
    return eval_prompt(s, modules, column);
  };
  const PromptOf in_tokens = [](const std::string&) { return std::string(); };
  const auto encode = [&](const std::optional<TableOfTexts>& table,
                          const std::vector<std::string>& texts) {
    return table && table->is_prepared() ? find_single_texts(*table, texts)
                                         : encode_single_texts(tokenizer, pool, max_length, texts);
  };
  if (tables.eval)
    data.set = HONE_TRY(eval_set_of(*tables.eval, tables.eval->is_prepared() ? in_tokens : prompt));
  else if (s.do_eval)
    data.set = HONE_TRY(
        retrieval_set(s, HONE_TRY(expand_files(sources.validation, "validation")), prompt));
  data.eval = HONE_TRY(encode(tables.eval, data.set.texts));
  data.evaluated = std::ssize(data.set.texts);
  if (tables.test) {
    if (tables.test->columns.size() != 2)
      return Error(err::kNothingToDo, "rows to predict are pairs of texts")
          .at("--test_file")
          .todo("name two columns with --text_column_names; hone embed writes embeddings");
    const PromptOf& before = tables.test->is_prepared() ? in_tokens : prompt;
    std::vector<std::string> texts;
    for (int64_t i = 0; i < tables.test->rows(); ++i)
      for (size_t c : {size_t{0}, size_t{1}}) {
        data.test_texts.push_back(static_cast<int32_t>(texts.size()));
        texts.push_back(HONE_TRY(before(tables.test->columns[c])) +
                        tables.test->texts[c][static_cast<size_t>(i)]);
      }
    append_rows(data.eval, HONE_TRY(encode(tables.test, texts)));
    data.test = std::move(tables.test);
  }
  return Ok{};
}

// The loss of the rows, and the rows as ids.
Status take_training_rows(const EmbeddingSettings& s, EmbeddingState& state,
                          const TableOfTexts& table, const Tokenizer& tokenizer, ThreadPool& pool,
                          int64_t max_length, EmbeddingData& data, Examples& x,
                          std::vector<std::string>& notes) {
  state.loss = HONE_TRY(s.loss_of(table));
  state.texts = std::ssize(table.columns);
  data.train = HONE_TRY(encode_training_rows(s, tokenizer, pool, max_length, table));
  notes.push_back("train: " + describe(data.train, max_length));
  notes.push_back("train: " + state.loss->name);
  x.train_rows_read = data.train.rows.size();
  x.hash = data.train.rows.hash();
  for (const float label : data.train.labels)
    x.hash = fnv1a(x.hash, uint64_t{std::bit_cast<uint32_t>(label)});
  if (s.batch_sampler == "no_duplicates") x.reorder = apart_from_duplicates(table);
  x.train.emplace(std::move(data.train.rows));
  return Ok{};
}

void collate_embedding_labels(const TextRows& train, const CollatedRows& rows, Batch& to) {
  const auto labels = to.get<float>("labels"), weight = to.get<float>("weight");
  std::fill(labels.begin(), labels.end(), 0.0f);
  std::fill(weight.begin(), weight.end(), 0.0f);
  for (size_t q = 0; q < rows.rows.rows.size(); ++q) {
    weight[q] = 1;
    if (train.labels_of_row > 0) labels[q] = train.labels_of(rows.rows.rows[q])[0];
  }
}

Result<Examples> embedding_examples(const SettingsPtr& s, const StatePtr& state, Pretrained& model,
                                    const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  state->modules = HONE_TRY(s->modules_of(model.path));
  HONE_TRY(embed_with(model, state->modules));
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
  const int64_t max_length = s->text_tokens(state->modules, model.config);
  const LabelSources sources = HONE_TRY(embedding_sources(*s));
  EmbeddingSplits tables = HONE_TRY(read_embedding_tables(*s, model, sources));

  const auto data = std::make_shared<EmbeddingData>();
  Examples x;
  if (s->do_train)
    HONE_TRY(take_training_rows(*s, *state, *tables.train, tokenizer, source.pool, max_length,
                                *data, x, tables.notes));
  if (s->do_eval || s->do_predict) {
    HONE_TRY(read_eval_texts(*s, sources, state->modules, tables, tokenizer, source.pool,
                             max_length, *data));
    if (data->evaluated > 0)
      tables.notes.push_back(fmt::format("validation: {} different texts in {} rows",
                                         data->evaluated, data->set.rows));
    x.eval.emplace(std::move(data->eval.rows));
    x.evaluated = data->evaluated;
  }
  show_notes(schema_of(*s), tables.notes);

  const ModelConfig& config = model.config;
  x.collate = [data, &config](const CollatedRows& rows, Batch& to) -> Result<bool> {
    HONE_TRY(collate_text_rows(config, rows.data.axes[0],
                               rows.training() ? data->train : data->eval, rows.rows, to));
    return false;
  };
  x.collate_joint = [data](const CollatedRows& rows, Batch& to) {
    collate_embedding_labels(data->train, rows, to);
  };
  x.normaliser = [state](int64_t, const StepPlan& plan, const auto&, const auto&) {
    return state->loss->mean ? plan.rows : int64_t{1};
  };
  x.metrics = [s, data, state, width = width_of(config)](int64_t) {
    return std::make_unique<EmbeddingEvaluation>(
        0, data->evaluated, width, [s, data, state, width](std::span<const float> embeddings) {
          return evaluate_embeddings(data->set, embeddings, width, state->modules.similarity,
                                     s->example_scores.get());
        });
  };
  x.predict = [data, state](TaskRun& run, const std::string& folder) {
    return predict_similarities(data, state, run, folder);
  };
  x.callback = [state](TaskRun& run) -> std::unique_ptr<TrainCallback> {
    state->run = &run;
    return nullptr;
  };
  x.saved = [state, hidden = config.hidden](const std::string& folder) {
    return save_modules(*state, folder, hidden);
  };
  return x;
}

// The first row to train on; one of the loss's form for a plan without data.
Result<TableOfTexts> first_row(const EmbeddingSettings& s) {
  if (s.train_file.empty() && s.dataset_name.empty()) {
    const TextLoss* loss = s.loss.empty() ? nullptr : find_text_loss(s.loss);
    TableOfTexts usual;
    usual.columns = {"anchor", "positive"};
    if (loss != nullptr && loss->least_columns > 2) usual.columns.emplace_back("negative");
    if (loss != nullptr && loss->labels) usual.label_column = "label", usual.labels_of_row = 1;
    usual.texts.resize(usual.columns.size());
    usual.lists.resize(usual.columns.size());
    return usual;
  }
  const LabelSources sources = HONE_TRY(embedding_sources(s));
  if (is_shard_folder(sources.train[0])) return peek_text_shards(sources.train[0], "train");
  return peek_text_table(HONE_TRY(expand_files(sources.train, "train")), HONE_TRY(s.row_options()),
                         s.table_options());
}

// The head of the body alone, and what the settings say of its embeddings before a file is read.
Status choose_embedding_head(const EmbeddingSettings& s, EmbeddingState& state,
                             ModelConfig& config) {
  if (s.streaming)
    return Error(err::kStreaming, "text embeddings read their rows into memory")
        .todo("leave --streaming out");
  HONE_TRY(set_head(config, Head::none));
  const SentenceModules modules = HONE_TRY(s.modules_of(s.model_name_or_path));
  auto form = std::make_shared<EmbeddingForm>(modules.form);
  form->longest = s.text_tokens(modules, config);
  HONE_TRY(s.matryoshka(form->width(config.hidden)));
  config.embedding = std::move(form);
  if (!s.do_train) return Ok{};
  const TableOfTexts first = HONE_TRY(first_row(s));
  state.loss = HONE_TRY(s.loss_of(first));
  state.texts = std::ssize(first.columns);
  return Ok{};
}

Result<RunForm> embedding_form(const EmbeddingSettings& s, const EmbeddingState& state,
                               const Pretrained& model) {
  const SentenceModules modules = HONE_TRY(s.modules_of(model.path));
  const int64_t texts = s.do_train ? state.texts : 1;
  return RunForm{.limits = {{kTokens, texts * s.text_tokens(modules, model.config),
                             "max_seq_length", s.max_seq_length}},
                 .even_steps = true,
                 .most_rows = s.do_train && state.loss->in_batches ? s.mini_batch_size : 0};
}

// Each text of a row to evaluate or to predict with its prompt, one after the other.
struct EvalSequences {
  TextRows rows;
  std::vector<int64_t> of_row;  // their number in each row of the table
};
Result<EvalSequences> eval_sequences(const EmbeddingSettings& s, const SentenceModules& modules,
                                     const Tokenizer& tokenizer, ThreadPool& pool, int64_t most,
                                     const TableOfTexts& table) {
  std::vector<std::string> prompts, texts;
  for (const std::string& column : table.columns)
    prompts.push_back(HONE_TRY(eval_prompt(s, modules, column)));
  EvalSequences out;
  for (size_t i = 0; i < static_cast<size_t>(table.rows()); ++i) {
    const auto before = std::ssize(texts);
    for (size_t c = 0; c < table.columns.size(); ++c)
      for (const std::string& text : table.texts_of(c, i)) texts.push_back(prompts[c] + text);
    out.of_row.push_back(std::ssize(texts) - before);
  }
  out.rows = HONE_TRY(encode_single_texts(tokenizer, pool, most, texts));
  return out;
}

// Evaluated rows: their tokens, those that are cut, and the metrics that they give.
Status check_evaluated_texts(const EmbeddingSettings& s, const CheckRequest& request,
                             const LabelSources& sources, const SentenceModules& modules,
                             const EmbeddingSplits& tables, RowsReport& report,
                             Findings& findings) {
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(request.model));
  const int64_t most = s.text_tokens(modules, request.model.config);
  const PromptOf prompt = [&](const std::string& column) {
    return eval_prompt(s, modules, column);
  };
  SplitReport& to = report.eval;
  const EmbeddingEvalSet set =
      tables.eval ? HONE_TRY(eval_set_of(*tables.eval, prompt))
                  : HONE_TRY(retrieval_set(
                        s, HONE_TRY(expand_files(sources.validation, "validation")), prompt));
  report.metrics = embedding_metric_names(set.kind, modules.similarity);
  to.rows = to.sequences = set.rows;
  if (!tables.eval) {
    to.counts.tokens_read =
        HONE_TRY(encode_single_texts(tokenizer, request.pool, most, set.texts)).rows.tokens();
    return Ok{};
  }
  if (tables.eval->is_prepared()) {
    to.counts.tokens_read = HONE_TRY(rows_of_tokens(*tables.eval, 0)).rows.tokens();
    return Ok{};
  }
  const EvalSequences sequences =
      HONE_TRY(eval_sequences(s, modules, tokenizer, request.pool, most, *tables.eval));
  to.counts.tokens_read = sequences.rows.rows.tokens();
  const std::vector<int32_t> cut = sums_of_runs(sequences.rows.cut, sequences.of_row);
  tell_cut_rows("validation", cut, tables.eval->places, most, to, findings);
  return Ok{};
}

RowsReport check_embedding(const SettingsPtr& s, const CheckRequest& request, Findings& findings) {
  RowsReport report;
  const auto read = [&]() -> Status {
    const SentenceModules modules = HONE_TRY(s->modules_of(request.model.path));
    const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(request.model));
    const LabelSources sources = HONE_TRY(embedding_sources(*s));
    EmbeddingSplits tables = HONE_TRY(read_embedding_tables(*s, request.model, sources));
    request.notes = tables.notes;
    const int64_t most = s->text_tokens(modules, request.model.config);
    if (!tables.train) return Ok{};
    HONE_TRY(s->loss_of(*tables.train));
    const TextRows rows =
        HONE_TRY(encode_training_rows(*s, tokenizer, request.pool, most, *tables.train));
    report.train.rows = report.train.sequences = rows.rows.size();
    report.train.counts.tokens_read = rows.rows.tokens();
    tell_cut_rows("train", rows.cut, tables.train->places, most, report.train, findings);
    if (s->do_eval)
      HONE_TRY(check_evaluated_texts(*s, request, sources, modules, tables, report, findings));
    for (int64_t i = 0; i < std::min(request.samples, rows.rows.size()); ++i) {
      const auto ids = rows.rows.row(i);
      report.samples.push_back(
          {{ids.begin(), ids.end()},
           {},
           rows.labels_of_row > 0 ? fmt::format("{:g}", rows.labels_of(i)[0]) : "",
           {},
           {}});
    }
    return Ok{};
  };
  if (const Status done = read(); !done.ok()) findings.add(done.error());
  return report;
}

// The rows to evaluate or to predict: each text with its prompt.
Result<RowSplit> eval_shards_of(const EmbeddingSettings& s, const SentenceModules& modules,
                                const Tokenizer& tokenizer, ThreadPool& pool, int64_t most,
                                const std::string& name, TableOfTexts table) {
  const EvalSequences sequences =
      HONE_TRY(eval_sequences(s, modules, tokenizer, pool, most, table));
  // Equal texts with different prompts have different numbers.
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const std::string prompt = HONE_TRY(eval_prompt(s, modules, table.columns[c]));
    for (std::string& text : table.texts[c]) text.insert(0, prompt);
    for (auto& list : table.lists[c])
      for (std::string& text : list) text.insert(0, prompt);
  }
  return text_shards_of(name, table, sequences.rows, sequences.of_row);
}

// By the form of the first evaluated row.
Result<std::string> metric_of_embedding_rows(const EmbeddingSettings& s) {
  const SentenceModules modules = HONE_TRY(s.modules_of(s.model_name_or_path));
  auto kind = EmbeddingEvalSet::Kind::retrieval;
  if (s.corpus_file.empty()) {
    const LabelSources sources = HONE_TRY(embedding_sources(s));
    const std::vector<std::string> files = HONE_TRY(expand_files(
        sources.validation.empty() ? sources.train : sources.validation, "validation"));
    const TableOfTexts first =
        HONE_TRY(peek_text_table(files, HONE_TRY(s.row_options()), s.table_options()));
    kind = HONE_TRY(eval_set_of(first, [](const auto&) { return std::string(); })).kind;
  }
  return embedding_metric_names(kind, modules.similarity).front();
}

// For hone prepare.
Result<std::vector<RowSplit>> embedding_splits(const EmbeddingSettings& s, const Pretrained& model,
                                               const LabelSources& sources, ThreadPool& pool,
                                               std::vector<std::string>& notes) {
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
  const SentenceModules modules = HONE_TRY(s.modules_of(model.path));
  const int64_t most = s.text_tokens(modules, model.config);
  EmbeddingSplits tables = HONE_TRY(read_embedding_tables(s, model, sources));
  notes = tables.notes;
  std::vector<RowSplit> splits;
  if (tables.train) {
    HONE_TRY(expect_single_texts(*tables.train));
    const TextRows rows = HONE_TRY(encode_training_rows(s, tokenizer, pool, most, *tables.train));
    splits.push_back(text_shards_of(
        "train", *tables.train, rows,
        std::vector<int64_t>(static_cast<size_t>(tables.train->rows()), rows.texts)));
  }
  for (const auto& [name, table] : {std::pair("validation", &tables.eval), {"test", &tables.test}})
    if (*table)
      splits.push_back(
          HONE_TRY(eval_shards_of(s, modules, tokenizer, pool, most, name, std::move(**table))));
  return splits;
}

PreparedSource embedding_source(const SettingsPtr& s) {
  return {.choose_splits = [s] { want_named_splits(*s, s->test_file); },
          .sources = [s] { return embedding_sources(*s); },
          .shard_settings =
              [s](const Pretrained& model) { return embedding_shard_settings(*s, model, true); },
          .splits =
              [s](const Pretrained& model, const LabelSources& sources, ThreadPool& pool,
                  std::vector<std::string>& notes) {
                return embedding_splits(*s, model, sources, pool, notes);
              }};
}

// Two sentences on ferries, and the share of place, time and weather that they have in common.
OrderedJson sample_pair(int i) {
  const SampleSentence one = sample_sentence(i), other = sample_sentence(i + 5 * (i % 3) + i % 2);
  const int same =
      (one.place == other.place) + (one.time == other.time) + (one.weather == other.weather);
  return {{"sentence1", one.text()}, {"sentence2", other.text()}, {"score", same / 3.0}};
}

}  // namespace

Task task_embedding() {
  const auto s = std::make_shared<EmbeddingSettings>();
  const auto state = std::make_shared<EmbeddingState>();
  Task t;
  t.name = "embedding";
  t.summary = "embeddings of texts from pairs, triplets and pairs with a score";
  t.metric = "spearman_cosine";
  t.metrics = [] { return embedding_metric_names(); };
  t.metric_of_rows = [s] { return metric_of_embedding_rows(*s); };
  t.sample = SampleProject{.model = tiny_encoder("sentence-transformers/all-MiniLM-L6-v2"),
                           .row = sample_pair,
                           .flags = {{"max_seq_length", 128}}};
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.choose_head = [s, state](ModelConfig& config) {
    return choose_embedding_head(*s, *state, config);
  };
  t.form = [s, state](const Pretrained& model) { return embedding_form(*s, *state, model); };
  const auto build = [s, state](Part part) {
    return [s, state, part](const ModelConfig& config, const BatchShape& shape,
                            const std::string& name) {
      return embedding_program(*s, *state, part, config, shape, name);
    };
  };
  t.program = [build](const ModelConfig& config, const BatchShape& shape, const std::string& name,
                      bool train) {
    return build(train ? Part::whole : Part::evaluation)(config, shape, name);
  };
  t.joint = JointLoss{
      .embed = build(Part::embed),
      .part = build(Part::gradient),
      .loss = [s, state](const ModelConfig& config, int64_t rows, const std::string& name) {
        return joint_program(*s, *state, config, rows, name);
      }};
  t.examples = [s, state](Pretrained& model, const ExampleSource& source) {
    return embedding_examples(s, state, model, source);
  };
  t.predicts = true;
  t.prepared = embedding_source(s);
  t.check_rows = [s](const CheckRequest& request, Findings& findings) {
    return check_embedding(s, request, findings);
  };
  return t;
}

}  // namespace hone
