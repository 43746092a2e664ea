#include "learn/tasks/rerank_data.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/settings/errors.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/errors.h"
#include "learn/harness/encode.h"
#include "learn/tasks/text_shards.h"

namespace hone {
namespace {

Result<OrderedJson> rerank_shard_settings(const RerankSettings& s, const Pretrained& model,
                                          bool all) {
  OrderedJson j;
  j["task"] = "rerank";
  j["tokenizer"] = tokenizer_hash(*HONE_TRY(tokenizer_of(model)));
  add_row_settings(schema_of(s), {{"max_seq_length", s.pair_tokens(model.config)}}, all, j);
  return j;
}

// The pairs of training rows, and those of an evaluation or prediction.
Result<std::vector<RowSplit>> rerank_splits(const RerankSettings& s, const Pretrained& model,
                                            const LabelSources& sources, ThreadPool& pool,
                                            std::vector<std::string>& notes) {
  const RerankEncoder encoder = HONE_TRY(RerankEncoder::open(s, model, pool));
  const TextTables tables = HONE_TRY(read_rerank_tables(s, model, sources));
  notes = tables.notes;
  std::vector<RowSplit> splits;
  if (tables.train) {
    const RerankColumns columns = HONE_TRY(rerank_columns(s, *tables.train));
    splits.push_back(text_shards_of(
        "train", *tables.train, HONE_TRY(encoder.training_rows(*tables.train)),
        std::vector<int64_t>(static_cast<size_t>(tables.train->rows()), columns.texts)));
  }
  for (const auto& [name, table] :
       {std::pair("validation", &tables.eval), {"test", &tables.test}}) {
    if (!*table) continue;
    const RerankPairs pairs = HONE_TRY(pairs_of(**table, table == &tables.eval));
    splits.push_back(
        text_shards_of(name, **table, HONE_TRY(encoder.eval_rows(**table, pairs)), pairs.of_row));
  }
  return splits;
}

}  // namespace

int64_t RerankSettings::pair_tokens(const ModelConfig& config) const {
  return max_seq_length > 0 ? std::min(max_seq_length, config.max_positions) : config.max_positions;
}

std::string RerankSettings::loss_of(int64_t texts) const {
  return !loss.empty() ? loss : texts > 1 ? "MarginMSELoss" : "BinaryCrossEntropyLoss";
}

Result<RerankColumns> rerank_columns(const RerankSettings& s, const TableOfTexts& table) {
  const RerankColumns found{.texts = std::ssize(table.columns) - 1, .labels = table.labels_of_row};
  const std::string loss = s.loss_of(found.texts);
  const bool margins = loss == "MarginMSELoss";
  HONE_TRY(expect_single_texts(table));
  const bool fits =
      margins ? found.texts >= 2 && (found.labels == found.texts || found.labels == found.texts - 1)
              : found.texts == 1 && found.labels == 1;
  if (fits) return found;
  return Error(err::kSettingBounds,
               fmt::format("{} reads {}; the rows have {} columns of texts and {} labels", loss,
                           margins ? "a query, a positive, negatives and a score for each text"
                                   : "a query, a text and a label",
                           table.columns.size(), found.labels))
      .at("--loss")
      .todo(
          "name the columns with --text_column_names and --label_column_name, or choose another "
          "loss");
}

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

Status check_classes(const RerankSettings& s, const TableOfTexts& table, int64_t classes) {
  if (s.loss != "CrossEntropyLoss") return Ok{};
  for (size_t i = 0; i < table.labels.size(); ++i) {
    const float y = table.labels[i];
    if (y == std::floor(y) && y >= 0 && y < static_cast<float>(classes)) continue;
    return Error(err::kLabel, fmt::format("{:g} is not one of the classes 0 to {}", y, classes - 1))
        .at(table.places[i])
        .todo("number the classes from 0, and give their number with --num_labels");
  }
  return Ok{};
}

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
        out.queries.push_back(table.texts[0][i]);
        out.texts.push_back(text);
        out.places.push_back(table.places[i]);
        if (labelled) out.labels.push_back(by_column ? (c == 1 ? 1.0f : 0.0f) : table.labels[i]);
      }
    out.of_row.push_back(std::ssize(out.queries) - before);
  }
  std::map<std::string_view, size_t> samples;
  for (const std::string_view query : out.queries)
    out.sample_of.push_back(samples.try_emplace(query, samples.size()).first->second);
  return out;
}

Result<TextTables> read_rerank_tables(const RerankSettings& s, const Pretrained& model,
                                      const LabelSources& sources) {
  return read_text_tables(text_table_flags(s), sources, {.shard_settings = [&] {
                            return rerank_shard_settings(s, model, false);
                          }});
}

Result<RerankEncoder> RerankEncoder::open(const RerankSettings& s, const Pretrained& model,
                                          ThreadPool& pool) {
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
  return RerankEncoder{tokenizer, pool, s.pair_tokens(model.config)};
}

Result<TextRows> RerankEncoder::training_rows(const TableOfTexts& table) const {
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

Result<TextRows> RerankEncoder::eval_rows(const TableOfTexts& table,
                                          const RerankPairs& pairs) const {
  if (!table.is_prepared())
    return encode_text_rows(tokenizer, pool, max_length, {{pairs.queries}, {pairs.texts}},
                            pairs.places);
  TextRows rows = HONE_TRY(rows_of_tokens(table, 0));
  if (rows.rows.size() == std::ssize(pairs.queries)) return rows;
  return other_sequences(table, rows.rows.size(), std::ssize(pairs.queries));
}

PreparedSource rerank_source(const std::shared_ptr<RerankSettings>& s) {
  return {.choose_splits = [s] { want_named_splits(*s, s->test_file); },
          .sources = [s] { return text_sources(text_table_flags(*s)); },
          .shard_settings =
              [s](const Pretrained& model) { return rerank_shard_settings(*s, model, true); },
          .splits =
              [s](const Pretrained& model, const LabelSources& sources, ThreadPool& pool,
                  std::vector<std::string>& notes) {
                return rerank_splits(*s, model, sources, pool, notes);
              }};
}

#define HONE_BIND RerankSettings::bind
#define HONE_SETTINGS "learn/tasks/rerank_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
