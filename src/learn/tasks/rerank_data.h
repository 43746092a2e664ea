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
  // The name of the loss: --loss, by default MarginMSELoss if a row has several texts, else BinaryCrossEntropyLoss.
  // `texts`: number of texts of a row, without its query.
  std::string loss_of(int64_t texts) const;
};

// The columns of training rows.
struct RerankColumns {
  int64_t texts = 1;   // number of text columns, without the query
  int64_t labels = 1;  // number of labels of a row
};
// Counts the columns of the table. Errors: H0210 the loss needs other numbers of text columns or labels; H2110 a column
// has lists.
Result<RerankColumns> rerank_columns(const RerankSettings& s, const TableOfTexts& table);
// The number of scores that the model gives a pair. With --loss CrossEntropyLoss it is the number of classes: the
// value of --num_labels; if --num_labels is not set, the largest label of the training rows plus 1; without training
// rows, the number in config.json. With other losses it is one, with one exception: if the run does not train, `table`
// is null and config.json has several classes, it is their number. `table`: the training rows; null: they are not read.
int64_t rerank_labels(const RerankSettings& s, const ModelConfig& config,
                      const TableOfTexts* table);
// With --loss CrossEntropyLoss: returns H2121 if a label is not a whole number from 0 to classes - 1. Ok for other
// losses.
Status check_classes(const RerankSettings& s, const TableOfTexts& table, int64_t classes);

// The pairs of all rows of a table. A pair is a query and a text.
struct RerankPairs {
  // For each pair: its query and its text.
  std::vector<std::string_view> queries, texts;
  std::vector<std::string> places;  // for each pair: place of its row, "train.csv:7"
  std::vector<float> labels;        // for each pair: its label; empty: the pairs have no labels
  int64_t rows = 0;                 // number of rows of the table
  // For each pair: a number of its query, which is equal for pairs with equal queries.
  std::vector<size_t> sample_of;
  std::vector<int64_t> of_row;  // for each row of the table: its number of pairs
};
// The pairs of a table. `labelled` false: one pair for each text of the second column, without labels. True: the pairs
// have labels. If the table has one label a row, there is one pair for each text of the second column, with the label
// of its row; later columns are not used. Otherwise there is a pair for each text of all columns after the first: the
// label is 1 in the second column (positives) and 0 in later columns (negatives). The table must outlive the pairs.
// Errors: H2110 the table does not have a query and a text column; H2121 `labelled` is true and the table has neither
// one label a row nor a third column.
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
  // The training rows with their labels. The sequences of a row are the pairs of its query with each of its texts.
  Result<TextRows> training_rows(const TableOfTexts& table) const;
  // The rows to evaluate or to predict: a row for each of `pairs`, which are pairs_of(table, ...). Errors: H2132 the
  // table is prepared and its number of sequences differs from the number of pairs.
  Result<TextRows> eval_rows(const TableOfTexts& table, const RerankPairs& pairs) const;
};

// The functions with which hone prepare makes the rows (text_shards.h), with a sequence for each pair.
PreparedSource rerank_source(const std::shared_ptr<RerankSettings>& s);

}  // namespace hone
