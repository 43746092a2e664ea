// Rows of several texts, for embeddings, rerankers and multiple choice: reads them as a table of texts, and encodes
// them as token ids with the length of each text.
#pragma once

#include <span>

#include "learn/data/batches/batch.h"
#include "learn/harness/port_batch.h"
#include "learn/harness/prepared_source.h"
#include "learn/harness/task.h"

namespace hone {

// Chooses the columns of a file. The default is the rule of sentence-transformers: the label is the column label,
// labels, score or scores; the texts are all other columns, in their order.
struct TableOfTextsOptions {
  std::vector<std::string> text_columns = {};  // empty: all columns except the label
  std::string label_column = {};               // "": by the rule above
  bool wants_label = true;                     // false: a label column is not read
};

struct TableOfTexts {
  std::vector<std::string> columns = {};  // names of the text columns
  // texts[column][row]; empty in a column of lists.
  std::vector<std::vector<std::string>> texts = {};
  // lists[column][row]: the texts of a cell that is a list; empty in a column of single texts.
  std::vector<std::vector<std::vector<std::string>>> lists = {};
  std::string label_column = {};         // "": there is no label
  int64_t labels_of_row = 0;             // number of labels of a row
  std::vector<float> labels = {};        // labels_of_row numbers for each row
  std::vector<std::string> places = {};  // place of each row: "train.csv:7"
  // A note for the user: the columns that are used, and a warning if the header line may be a row.
  std::string note = {};
  // The tokens of a row of prepared shards (hone prepare): the sequences that the task makes of the row's texts. In
  // prepared tables `texts` and `lists` have a number instead of each text, such as "17"; equal texts have equal
  // numbers.
  struct Tokens {
    // ids: token ids of all sequences, one after another. lengths: number of tokens of each sequence.
    std::vector<int32_t> ids, lengths;
    std::vector<uint8_t> types = {};  // token type of each token; empty: all are 0
  };
  std::vector<Tokens> tokens = {};  // by row; empty: the table is not prepared
  std::string shards = {};          // if the table is prepared, its folder and split: "D/train"

  bool is_prepared() const { return !tokens.empty(); }
  int64_t rows() const { return std::ssize(places); }
  bool has_lists(size_t column) const { return column < lists.size() && !lists[column].empty(); }
  // The texts of a cell: one text, or a list.
  std::span<const std::string> texts_of(size_t column, size_t row) const;
  void keep(int64_t begin, int64_t end);  // removes all rows except [begin, end)
};

// Reads at most `limit` rows of the files; below 0: all. Errors: those of open_rows; H2109 a column is missing; H2110
// a cell is neither a text nor a list of texts, or a column has both; H2113 there are no rows; H2121 a label is not a
// number, or the rows have different numbers of labels.
Result<TableOfTexts> read_text_table(const std::vector<std::string>& files,
                                     const RowOptions& options, const TableOfTextsOptions& wanted,
                                     int64_t limit = -1);
// Returns H2110 if a column has lists of texts. `todo`: the remedy of the message.
Status expect_single_texts(const TableOfTexts& table,
                           const char* todo = "write one text in each column of a training row");

// Encoded rows with `texts` sequences each. The tokens of a row's sequences follow one another in one row of `rows`.
struct TextRows {
  TokenRows rows = {};
  int64_t texts = 1;  // number of sequences of a row
  // Number of tokens of each sequence, `texts` numbers for each row.
  std::vector<int32_t> lengths = {};
  std::vector<uint8_t> types = {};  // token type of each token; empty: all are 0
  int64_t labels_of_row = 0;        // number of labels of a row
  std::vector<float> labels = {};   // labels_of_row numbers for each row
  std::vector<int32_t> cut = {};    // number of sequences of each row that were cut; empty: unknown

  std::span<const int32_t> lengths_of(int64_t row) const {
    return std::span(lengths).subspan(static_cast<size_t>(row * texts), static_cast<size_t>(texts));
  }
  std::span<const float> labels_of(int64_t row) const {
    return std::span(labels).subspan(static_cast<size_t>(row * labels_of_row),
                                     static_cast<size_t>(labels_of_row));
  }
};

// The texts of rows. If `second` is empty, sequence k of row i is the text first[k][i]. Otherwise the sequence is the
// pair of first[k][i] and second[k][i].
struct TextsToEncode {
  std::vector<std::vector<std::string_view>> first, second;
};
// Encodes the sequences, each with special tokens and cut to `max_length` tokens. `places`: the place of each row, for
// messages. Errors: those of the tokenizer; H2123 a text has no tokens.
Result<TextRows> encode_text_rows(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                                  const TextsToEncode& columns,
                                  std::span<const std::string> places);

// Fills the inputs of a program with `data.texts` sequences a row (text_graph.h). `tokens`: the tokens of all rows of
// `data`. They are an argument of their own because a task moves data.rows into Examples. `rows`: the rows of the
// micro-batch. Errors: H2415 a token id that the model does not have.
Status collate_text_rows(const ModelConfig& config, const TokenRows& tokens, const TextRows& data,
                         const BatchRows& rows, Batch& to);

// A hash of the tokens and the labels.
uint64_t hash_of(const TextRows& rows);
// A description for the summary of a run: "1,000 rows of 2 texts -> 30,102 tokens, at most 128 each; 3 texts cut".
// `max_length`: the largest number of tokens of a text (128 in the example).
std::string describe(const TextRows& rows, int64_t max_length);

}  // namespace hone
