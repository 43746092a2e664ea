// Rows of several texts: the table of a file, and its rows as token ids with the bounds of their texts.
#pragma once

#include <span>

#include "learn/data/batches/batch.h"
#include "learn/harness/port_batch.h"
#include "learn/harness/prepared_source.h"
#include "learn/harness/task.h"

namespace hone {

// The columns of a file, by the rules of sentence-transformers: the label is the column label, labels, score or
// scores; the texts are all others, in their order.
struct TableOfTextsOptions {
  std::vector<std::string> text_columns = {};  // empty: all but the label
  std::string label_column = {};               // empty: by the rule
  bool wants_label = true;                     // false: a column of labels is left out
};

struct TableOfTexts {
  std::vector<std::string> columns = {};             // names of the columns of texts
  std::vector<std::vector<std::string>> texts = {};  // by column, by row
  std::vector<std::vector<std::vector<std::string>>> lists =
      {};                         // in place of texts in columns of lists
  std::string label_column = {};  // "": none
  int64_t labels_of_row = 0;
  std::vector<float> labels = {};        // labels_of_row for each row
  std::vector<std::string> places = {};  // "train.csv:7", by row
  std::string note = {};                 // its columns, and whether the header is probably a row
  // Prepared rows have the sequences that the task makes of their texts, by row; the texts are numbers.
  struct Tokens {
    std::vector<int32_t> ids, lengths;
    std::vector<uint8_t> types = {};  // of each token; empty: 0
  };
  std::vector<Tokens> tokens = {};
  std::string shards = {};  // "D/train" of prepared rows

  bool is_prepared() const { return !tokens.empty(); }
  int64_t rows() const { return std::ssize(places); }
  bool has_lists(size_t column) const { return column < lists.size() && !lists[column].empty(); }
  // The text of a cell, or its list.
  std::span<const std::string> texts_of(size_t column, size_t row) const;
  void keep(int64_t begin, int64_t end);  // these rows alone
};

// At most `limit` rows; < 0: all. Errors: those of open_rows; H2109 a column is missing, H2110 a cell is neither a text
// nor a list of texts, H2113 no rows, H2121 a label is not a number.
Result<TableOfTexts> read_text_table(const std::vector<std::string>& files,
                                     const RowOptions& options, const TableOfTextsOptions& wanted,
                                     int64_t limit = -1);
// H2110 a column holds lists of texts; `todo` says what to do.
Status expect_single_texts(const TableOfTexts& table,
                           const char* todo = "write one text in each column of a training row");

// Rows of `texts` sequences each, whose tokens follow one another in a row of `rows`.
struct TextRows {
  TokenRows rows = {};
  int64_t texts = 1;
  std::vector<int32_t> lengths = {};  // tokens of each sequence: rows * texts
  std::vector<uint8_t> types = {};    // of each token; empty: 0
  int64_t labels_of_row = 0;
  std::vector<float> labels = {};
  std::vector<int32_t> cut = {};  // sequences of each row that were longer; empty: unknown

  std::span<const int32_t> lengths_of(int64_t row) const {
    return std::span(lengths).subspan(static_cast<size_t>(row * texts), static_cast<size_t>(texts));
  }
  std::span<const float> labels_of(int64_t row) const {
    return std::span(labels).subspan(static_cast<size_t>(row * labels_of_row),
                                     static_cast<size_t>(labels_of_row));
  }
};

// Sequence k of row i is first[k][i], with second[k][i] after it if `second` is not empty; each at most `max_length`
// tokens with its special tokens. Errors: those of the tokenizer, H2123 a text has no tokens.
struct TextsToEncode {
  std::vector<std::vector<std::string_view>> first, second;
};
Result<TextRows> encode_text_rows(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                                  const TextsToEncode& columns,
                                  std::span<const std::string> places);

// Fills the inputs of a program of `data.texts` sequences a row (text_graph.h). `tokens`: data.rows, wherever they
// are now. Errors: H2415.
Status collate_text_rows(const ModelConfig& config, const TokenRows& tokens, const TextRows& data,
                         const BatchRows& rows, Batch& to);

// A hash of the tokens and the labels.
uint64_t hash_of(const TextRows& rows);
// "1,000 rows of 2 texts -> 30,102 tokens, at most 128 each; 3 texts cut"
std::string describe(const TextRows& rows, int64_t max_length);

}  // namespace hone
