// Reads the rows of rerankers (cross-encoders). A row has a query and one or several texts; the model gets each text
// as a pair with the query.
#pragma once

#include <string_view>

#include "learn/tasks/text_tables.h"

namespace hone {

struct RerankSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/rerank_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { bind(schema); }
  // The largest number of tokens of a pair.
  int64_t pair_tokens(const ModelConfig& config) const;
  // The name of the loss: --loss, by default MarginMSELoss if a query has several texts, else BinaryCrossEntropyLoss.
  // `texts`: number of texts for a query.
  std::string loss_of(int64_t texts) const;
};

// The columns of training rows.
struct RerankColumns {
  int64_t texts = 1;   // number of texts for a query
  int64_t labels = 1;  // number of labels of a row
};
// The columns of the table, if the loss accepts them. Errors: H0210 the loss needs other columns; H2110 a column has
// lists.
Result<RerankColumns> rerank_columns(const RerankSettings& s, const TableOfTexts& table);
// The number of scores that the model gives a pair: one, or with CrossEntropyLoss the number of classes. `table`: the
// training rows; null: they are not read.
int64_t rerank_labels(const RerankSettings& s, const ModelConfig& config,
                      const TableOfTexts* table);
// For CrossEntropyLoss: H2121 if a label is not a whole number from 0 to classes - 1. Ok for other losses.
Status check_classes(const RerankSettings& s, const TableOfTexts& table, int64_t classes);

// The pairs of a query and a text of all rows of a table. Members are vectors with an element for each pair, unless
// they say otherwise.
struct RerankPairs {
  std::vector<std::string_view> queries, texts;
  std::vector<std::string> places;  // place of the row: "train.csv:7"
  std::vector<float> labels;        // empty: the pairs have no labels
  int64_t rows = 0;                 // number of rows of the table
  // Number of the query: pairs with equal queries have the same number.
  std::vector<size_t> sample_of;
  std::vector<int64_t> of_row;  // for each row of the table: its number of pairs
};
// The pairs of a table. `labelled`: the pairs get labels; without a label column these are 1 for texts of the second
// column (positives) and 0 for texts of later columns (negatives). The table must outlive the pairs. Errors: H2110 the
// table does not have a query and a text column; H2121 `labelled`, and the rows have neither a label nor negatives.
Result<RerankPairs> pairs_of(const TableOfTexts& table, bool labelled);

// Reads the tables of the splits that the settings want. Errors: those of read_text_tables.
Result<TextTables> read_rerank_tables(const RerankSettings& s, const Pretrained& model,
                                      const LabelSources& sources);

// Encodes pairs with the model's tokenizer. Errors of its functions: those of encode_text_rows and rows_of_tokens.
struct RerankEncoder {
  const Tokenizer& tokenizer;
  ThreadPool& pool;
  int64_t max_length;  // largest number of tokens of a pair

  // Model and pool must outlive the result. Errors: H2413 the model has no tokenizer.
  static Result<RerankEncoder> open(const RerankSettings& s, const Pretrained& model,
                                    ThreadPool& pool);
  // The training rows: the pairs of a query with each of its texts are the sequences of a row. With their labels.
  Result<TextRows> training_rows(const TableOfTexts& table) const;
  // The rows to evaluate or to predict: a row for each pair. H2132: prepared rows have another number of pairs.
  Result<TextRows> eval_rows(const TableOfTexts& table, const RerankPairs& pairs) const;
};

// The functions with which hone prepare makes the rows (text_shards.h), with a sequence for each pair.
PreparedSource rerank_source(const std::shared_ptr<RerankSettings>& s);

}  // namespace hone
