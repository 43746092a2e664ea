#include "learn/tasks/embedding_data.h"

#include <algorithm>
#include <unordered_map>

#include "learn/data/rows/files.h"
#include "learn/harness/encode.h"
#include "learn/harness/errors.h"
#include "learn/tasks/text_shards.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

Result<std::string> no_prompt(const std::string&) { return std::string(); }

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

Result<TextRows> encode_eval_texts(const EmbeddingEncoder& encoder,
                                   const std::optional<TableOfTexts>& table,
                                   const std::vector<std::string>& texts) {
  if (table && table->is_prepared()) return find_single_texts(*table, texts);
  return encoder.single_texts(texts);
}

// Two texts of each row.
Status read_texts_to_predict(const EmbeddingEncoder& encoder,
                             const std::optional<TableOfTexts>& table, EmbeddingData& data) {
  if (table->columns.size() != 2)
    return Error(err::kNothingToDo, "rows to predict are pairs of texts")
        .at("--test_file")
        .todo("name two columns with --text_column_names; hone embed writes embeddings");
  HONE_TRY(expect_single_texts(*table, "write one text in each column of a row to predict"));
  std::vector<std::string> prompts, texts;
  for (const std::string& column : table->columns)
    prompts.push_back(table->is_prepared() ? "" : HONE_TRY(encoder.eval_prompt(column)));
  data.predicted = table->rows();
  for (size_t i = 0; i < static_cast<size_t>(data.predicted); ++i)
    for (const size_t c : {size_t{0}, size_t{1}}) {
      data.test_texts.push_back(static_cast<int32_t>(texts.size()));
      texts.push_back(prompts[c] + table->texts[c][i]);
    }
  append_rows(data.eval, HONE_TRY(encode_eval_texts(encoder, table, texts)));
  return Ok{};
}

// The rows to evaluate or to predict: each text with its prompt.
Result<RowSplit> eval_shards_of(const EmbeddingEncoder& encoder, const std::string& name,
                                TableOfTexts table) {
  const EvalSequences sequences = HONE_TRY(encoder.eval_sequences(table));
  // Equal texts with different prompts have different numbers.
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const std::string prompt = HONE_TRY(encoder.eval_prompt(table.columns[c]));
    for (std::string& text : table.texts[c]) text.insert(0, prompt);
    for (auto& list : table.lists[c])
      for (std::string& text : list) text.insert(0, prompt);
  }
  return text_shards_of(name, table, sequences.rows, sequences.of_row);
}

Result<std::vector<RowSplit>> embedding_splits(const EmbeddingSettings& s, const Pretrained& model,
                                               const LabelSources& sources, ThreadPool& pool,
                                               std::vector<std::string>& notes) {
  const EmbeddingEncoder encoder = HONE_TRY(EmbeddingEncoder::open(s, model, pool));
  TextTables tables = HONE_TRY(read_embedding_tables(s, model, sources));
  notes = tables.notes;
  std::vector<RowSplit> splits;
  if (tables.train) {
    HONE_TRY(expect_single_texts(*tables.train));
    const TextRows rows = HONE_TRY(encoder.training_rows(*tables.train));
    splits.push_back(text_shards_of(
        "train", *tables.train, rows,
        std::vector<int64_t>(static_cast<size_t>(tables.train->rows()), rows.texts)));
  }
  for (const auto& [name, table] : {std::pair("validation", &tables.eval), {"test", &tables.test}})
    if (*table) splits.push_back(HONE_TRY(eval_shards_of(encoder, name, std::move(**table))));
  return splits;
}

}  // namespace

Result<TextTables> read_embedding_tables(const EmbeddingSettings& s, const Pretrained& model,
                                         const LabelSources& sources) {
  return read_text_tables(
      text_table_flags(s), sources,
      {.shard_settings = [&] { return embedding_shard_settings(s, model, false); },
       .reads_validation = s.corpus_file.empty()});
}

Result<EmbeddingEncoder> EmbeddingEncoder::open(const EmbeddingSettings& s, const Pretrained& model,
                                                ThreadPool& pool) {
  SentenceModules modules = HONE_TRY(s.modules_of(model.path));
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
  const int64_t max_length = s.text_tokens(modules, model.config);
  return EmbeddingEncoder{s, std::move(modules), tokenizer, pool, max_length};
}

Result<std::string> EmbeddingEncoder::eval_prompt(const std::string& column) const {
  const std::string given = HONE_TRY(settings.prompt_of(column));
  if (!given.empty()) return given;
  const auto own = modules.prompts.find(column);
  if ((column == "query" || column == "document") && own != modules.prompts.end())
    return own->second;
  return modules.prompt("");
}

Result<TextRows> EmbeddingEncoder::training_rows(const TableOfTexts& table) const {
  TextsToEncode columns;
  std::vector<std::vector<std::string>> prompted(table.columns.size());
  for (size_t c = 0; c < table.columns.size() && !table.is_prepared(); ++c) {
    const std::string prompt = HONE_TRY(settings.prompt_of(table.columns[c]));
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

Result<TextRows> EmbeddingEncoder::single_texts(const std::vector<std::string>& texts) const {
  TextsToEncode columns;
  columns.first.emplace_back(texts.begin(), texts.end());
  const std::vector<std::string> places(texts.size());
  return encode_text_rows(tokenizer, pool, max_length, columns, places);
}

Result<EvalSequences> EmbeddingEncoder::eval_sequences(const TableOfTexts& table) const {
  std::vector<std::string> prompts, texts;
  for (const std::string& column : table.columns) prompts.push_back(HONE_TRY(eval_prompt(column)));
  EvalSequences out;
  for (size_t i = 0; i < static_cast<size_t>(table.rows()); ++i) {
    const auto before = std::ssize(texts);
    for (size_t c = 0; c < table.columns.size(); ++c)
      for (const std::string& text : table.texts_of(c, i)) texts.push_back(prompts[c] + text);
    out.of_row.push_back(std::ssize(texts) - before);
  }
  out.rows = HONE_TRY(single_texts(texts));
  return out;
}

Result<EmbeddingEvalSet> EmbeddingEncoder::eval_set(const std::optional<TableOfTexts>& table,
                                                    const LabelSources& sources) const {
  // The prompts of prepared rows are in their tokens.
  if (table && table->is_prepared()) return eval_set_of(*table, no_prompt);
  const PromptOf prompt = [this](const std::string& column) { return eval_prompt(column); };
  if (table) return eval_set_of(*table, prompt);
  return retrieval_set(settings, HONE_TRY(expand_files(sources.validation, "validation")), prompt);
}

Status read_eval_texts(const EmbeddingEncoder& encoder, const LabelSources& sources,
                       const TextTables& tables, EmbeddingData& data) {
  if (encoder.settings.do_eval) data.set = HONE_TRY(encoder.eval_set(tables.eval, sources));
  data.eval = HONE_TRY(encode_eval_texts(encoder, tables.eval, data.set.texts));
  data.evaluated = std::ssize(data.set.texts);
  if (tables.test) HONE_TRY(read_texts_to_predict(encoder, tables.test, data));
  return Ok{};
}

Result<std::string> metric_of_embedding_rows(const EmbeddingSettings& s) {
  const SentenceModules modules = HONE_TRY(s.modules_of(s.model_name_or_path));
  auto kind = EmbeddingEvalSet::Kind::retrieval;
  if (s.corpus_file.empty()) {
    const TableOfTexts first = HONE_TRY(first_evaluated_rows(text_table_flags(s), 1));
    kind = HONE_TRY(eval_set_of(first, no_prompt)).kind;
  }
  return embedding_metric_names(kind, modules.similarity).front();
}

PreparedSource embedding_source(const std::shared_ptr<EmbeddingSettings>& s) {
  return {.choose_splits = [s] { want_named_splits(*s, s->test_file); },
          .sources = [s] { return text_sources(text_table_flags(*s)); },
          .shard_settings =
              [s](const Pretrained& model) { return embedding_shard_settings(*s, model, true); },
          .splits =
              [s](const Pretrained& model, const LabelSources& sources, ThreadPool& pool,
                  std::vector<std::string>& notes) {
                return embedding_splits(*s, model, sources, pool, notes);
              }};
}

}  // namespace hone
