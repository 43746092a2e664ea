// Embeddings of texts, as sentence-transformers trains them: pairs, triplets, pairs with a score.
#include <algorithm>

#include "learn/harness/errors.h"
#include "learn/harness/run/task_run.h"
#include "learn/models/embed_texts.h"
#include "learn/tasks/embedding_check.h"
#include "learn/tasks/embedding_data.h"
#include "learn/tasks/embedding_order.h"
#include "learn/tasks/prediction_file.h"
#include "learn/tasks/row_outputs.h"
#include "learn/tasks/text_graph.h"

namespace hone {
namespace {

using SettingsPtr = std::shared_ptr<EmbeddingSettings>;

constexpr const char* kEmbeddings = "embeddings";  // the output of an evaluation

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
    g.program.outputs.push_back({kEmbeddings, embeddings});
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

Result<OrderedJson> predict_similarities(const EmbeddingData& data, const EmbeddingState& state,
                                         TaskRun& run, const std::string& folder) {
  const int64_t begin = data.evaluated, end = begin + std::ssize(data.test_texts),
                width = width_of(run.model().config);
  RowOutputs kept({kEmbeddings}, {.rows = end - begin, .first = begin, .width = width});
  if (HONE_TRY(run.evaluate_rows(begin, end, kept)) < 0) return OrderedJson::object();  // stopped
  if (!run.ranks().leads()) return OrderedJson::object();
  std::vector<std::string> predictions;
  for (int64_t i = 0; i < data.predicted; ++i) {
    const auto pair = std::span(data.test_texts).subspan(static_cast<size_t>(2 * i), 2);
    predictions.push_back(fmt::format(
        "{:.6f}",
        similarity_of(kept.of(kEmbeddings), width, state.modules.similarity, pair[0], pair[1])));
  }
  HONE_TRY(write_predictions(folder, "embedding", predictions));
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

// The loss of the rows, and the rows as ids.
Status take_training_rows(const EmbeddingEncoder& encoder, EmbeddingState& state,
                          TextTables& tables, EmbeddingData& data, Examples& x) {
  const EmbeddingSettings& s = encoder.settings;
  const TableOfTexts& table = *tables.train;
  state.loss = HONE_TRY(s.loss_of(table));
  state.texts = std::ssize(table.columns);
  data.train = HONE_TRY(encoder.training_rows(table));
  tables.notes.push_back("train: " + describe(data.train, encoder.max_length));
  tables.notes.push_back("train: " + state.loss->name);
  x.train_rows_read = data.train.rows.size();
  x.hash = hash_of(data.train);
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
  const EmbeddingEncoder encoder = HONE_TRY(EmbeddingEncoder::open(*s, model, source.pool));
  state->modules = encoder.modules;
  HONE_TRY(embed_with(model, state->modules));
  const LabelSources sources = HONE_TRY(text_sources(text_table_flags(*s)));
  TextTables tables = HONE_TRY(read_embedding_tables(*s, model, sources));

  const auto data = std::make_shared<EmbeddingData>();
  Examples x;
  if (s->do_train) HONE_TRY(take_training_rows(encoder, *state, tables, *data, x));
  if (s->do_eval || s->do_predict) {
    HONE_TRY(read_eval_texts(encoder, sources, tables, *data));
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
    const auto values = [s, data, state, width](const RowOutputs& kept) {
      return evaluate_embeddings(data->set, kept.of(kEmbeddings), width, state->modules.similarity,
                                 s->example_scores.get());
    };
    return std::make_unique<RowOutputs>(std::vector<std::string>{kEmbeddings},
                                        RowOutputs::Form{.rows = data->evaluated, .width = width},
                                        values);
  };
  x.predict = [data, state](TaskRun& run, const std::string& folder) {
    return predict_similarities(*data, *state, run, folder);
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

// A row of the loss's form, for a plan without data.
TableOfTexts usual_row(const TextLoss* loss) {
  TableOfTexts usual;
  usual.columns = {"anchor", "positive"};
  if (loss != nullptr && loss->least_columns > 2) usual.columns.emplace_back("negative");
  if (loss != nullptr && loss->labels) usual.label_column = "label", usual.labels_of_row = 1;
  usual.texts.resize(usual.columns.size());
  usual.lists.resize(usual.columns.size());
  return usual;
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
  std::optional<TableOfTexts> first = HONE_TRY(first_training_row(text_table_flags(s)));
  if (!first) first = usual_row(s.loss.empty() ? nullptr : find_text_loss(s.loss));
  state.loss = HONE_TRY(s.loss_of(*first));
  state.texts = std::ssize(first->columns);
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
    return check_embedding(*s, request, findings);
  };
  return t;
}

}  // namespace hone
