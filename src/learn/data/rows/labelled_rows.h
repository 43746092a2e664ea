// Reads the data of a classifier: each row has one text or a pair of texts, and a label.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "learn/data/rows/label_columns.h"
#include "learn/data/rows/label_map.h"
#include "learn/data/rows/token_rows.h"

namespace hone {

// The tokens of a batch of rows, with the model's special tokens. Rows with more tokens than allowed are cut.
struct EncodedTexts {
  std::vector<std::vector<int32_t>> ids;       // ids[i]: the tokens of row i
  std::vector<std::vector<int32_t>> type_ids;  // token_type_ids, in the shape of ids; empty: all 0
  std::vector<bool> cut;                       // cut[i]: row i was cut; empty: no row was
};
// Tokenizes a batch of rows. `second` has the second text of each pair; it is empty if rows have one text.
using EncodeTexts =
    std::function<Status(std::span<const std::string_view> first,
                         std::span<const std::string_view> second, EncodedTexts& out)>;

// The text of a row; for a pair both texts. `second` is "" if the row has one text.
struct RowTexts {
  std::string first, second;
};

// The data that belongs to the rows of a TokenRows: labels and more. A vector is empty if the task has no such data.
struct RowLabels {
  std::vector<uint8_t> types;    // token_type_ids of the tokens of all rows in order; empty: all 0
  std::vector<int32_t> classes;  // classification: the class of each row
  std::vector<float> values;     // regression: the value of each row
  // Multi-label classification: the classes of each row, ascending.
  std::vector<std::vector<int32_t>> sets = {};
  // Token classification: the class, or kIgnoreLabel, of the tokens of all rows in order.
  std::vector<int32_t> tags;
  std::vector<RowTexts> texts = {};  // the texts of each row as in the file; empty: not kept

  // The part of `types` or `tags` that belongs to row i. `rows` are the rows that these labels belong to. Empty if all
  // types are 0, or if the task has no tags.
  std::span<const uint8_t> types_of(const TokenRows& rows, int64_t i) const;
  std::span<const int32_t> tags_of(const TokenRows& rows, int64_t i) const;
};

struct LabelledRows {
  TokenRows rows;
  RowLabels labels;

  int64_t size() const { return rows.size(); }
  void keep_first(int64_t count);
  // Appends rows [begin, end) of `from`.
  void append(const LabelledRows& from, int64_t begin, int64_t end);
  uint64_t hash() const;  // of tokens, types and labels
};

struct LabelCounts {
  // `tokens` counts the tokens of the rows that were read, after rows were cut.
  int64_t rows_read = 0, tokens = 0;
  int64_t rows_cut = 0;         // rows that were cut, as they are longer than allowed
  int64_t rows_unlabelled = 0;  // rows that were left out, as they have no label
  int64_t rows_broken = 0;      // lines of GLUE's files that were left out, as they lack columns
};

// Rows whose labels have no class ids or values yet: number_labels assigns them.
struct LabelledText {
  LabelledRows data;
  SeenLabels seen;
  // By row: the number of its label in `seen`; empty if no labels were read.
  std::vector<int32_t> label;
  // By row, if labels are lists: the numbers of its labels in `seen`.
  std::vector<std::vector<int32_t>> label_sets = {};
  LabelCounts counts;
};

// Reads and tokenizes the rows, at most `limit` of them. Reads no labels if reader.columns.label is unset or
// wanted.label is false. Errors: those of the reader and of `encode`; H2110 a cell of the wrong type; H2123 an empty
// text or label.
Result<LabelledText> read_labelled(LabelReader& reader, const LabelColumnOptions& wanted,
                                   const EncodeTexts& encode,
                                   int64_t limit = std::numeric_limits<int64_t>::max());

// Fills text.data.labels with the class ids or values of `map`. Rows without a label are left out and counted.
// `split` is for messages. Errors: H2121 a label is not in the map, or is not a number; H2113 no row is left.
Status number_labels(LabelledText& text, const LabelMap& map, const std::string& split);

// The text "2,490 rows -> 170,261 tokens, at most 128 a row; 12 rows (0.5 %) cut; 3 rows without label left out".
// `rows` is the number of rows that are used, `max_length` the largest number of tokens that a row may have.
std::string describe(const LabelCounts& counts, int64_t rows, int64_t max_length);

}  // namespace hone
