// The rows of rerankers: a query with a text or several, as pairs.
#pragma once

#include <string_view>

#include "learn/tasks/text_tables.h"

namespace hone {

struct RerankSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/rerank_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { bind(schema); }
  // Tokens of a pair, at most.
  int64_t pair_tokens(const ModelConfig& config) const;
  // The name of the loss of rows with this number of texts for a query.
  std::string loss_of(int64_t texts) const;
};

// The columns of training rows.
struct RerankColumns {
  int64_t texts = 1;   // for a query
  int64_t labels = 1;  // of a row
};
// Errors: H0210 the loss reads others, H2110 a column holds lists.
Result<RerankColumns> rerank_columns(const RerankSettings& s, const TableOfTexts& table);
// The scores of a pair: one, or the classes of CrossEntropyLoss. `table`: the training rows; null:
// not read.
int64_t rerank_labels(const RerankSettings& s, const ModelConfig& config,
                      const TableOfTexts* table);
// Labels of CrossEntropyLoss are numbers of classes. H2121: one is not.
Status check_classes(const RerankSettings& s, const TableOfTexts& table, int64_t classes);

// Pairs of a query and a text, one a row; samples are queries with several of them.
struct RerankPairs {
  std::vector<std::string_view> queries, texts;
  std::vector<std::string> places;
  std::vector<float> labels;      // of each pair, or empty
  int64_t rows = 0;               // of the table
  std::vector<size_t> sample_of;  // of each pair: equal queries are one sample
  std::vector<int64_t> of_row;    // the number of pairs of each row of the table
};
// Rows of a query, positives and negatives are pairs with the labels 1 and 0. The table outlives
// the pairs. Errors: H2110 there are no two columns of texts, H2121 rows to evaluate have no label.
Result<RerankPairs> pairs_of(const TableOfTexts& table, bool labelled);

// Errors: those of read_text_tables.
Result<TextTables> read_rerank_tables(const RerankSettings& s, const Pretrained& model,
                                      const LabelSources& sources);

// Pairs through a model's tokenizer. Errors of its functions: those of encode_text_rows and
// rows_of_tokens.
struct RerankEncoder {
  const Tokenizer& tokenizer;
  ThreadPool& pool;
  int64_t max_length;  // tokens of a pair

  // H2413 without a tokenizer.
  static Result<RerankEncoder> open(const RerankSettings& s, const Pretrained& model,
                                    ThreadPool& pool);
  // The pairs of a query with each of its texts, and their labels.
  Result<TextRows> training_rows(const TableOfTexts& table) const;
  // A row for each pair of the table. H2132: prepared rows have another number of pairs.
  Result<TextRows> eval_rows(const TableOfTexts& table, const RerankPairs& pairs) const;
};

// The source of rows for hone prepare (text_shards.h): a sequence for each pair.
PreparedSource rerank_source(const std::shared_ptr<RerankSettings>& s);

}  // namespace hone
