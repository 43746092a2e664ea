// Rows of text, or of pairs of texts, with a label each: what a classifier learns from.
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

// Tokens of texts, with the model's special tokens, cut to the length that is allowed.
struct EncodedTexts {
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<int32_t>> type_ids;  // as long as ids, or empty: all 0
  std::vector<bool> cut;                       // by row; empty: none
};
// `second` is empty (one text a row), or as long as `first`.
using EncodeTexts =
    std::function<Status(std::span<const std::string_view> first,
                         std::span<const std::string_view> second, EncodedTexts& out)>;

// The text of a row, or its pair of texts (else `second` is "").
struct RowTexts {
  std::string first, second;
};

// Data of rows besides ids.
struct RowLabels {
  std::vector<uint8_t> types;    // by token, of all rows in order; empty: all 0
  std::vector<int32_t> classes;  // by row; empty for regression and unlabelled rows
  std::vector<float> values;     // by row; regression
  // By row, ascending: the classes of rows that may have several; empty: not of this task.
  std::vector<std::vector<int32_t>> sets = {};
  std::vector<int32_t> tags;         // by token: class, kIgnoreLabel: none; empty: not of this task
  std::vector<RowTexts> texts = {};  // by row, as in the file; empty: not kept

  // The types and tags of row i of `rows`, which these belong to; empty: all 0, and none.
  std::span<const uint8_t> types_of(const TokenRows& rows, int64_t i) const;
  std::span<const int32_t> tags_of(const TokenRows& rows, int64_t i) const;
};

struct LabelledRows {
  TokenRows rows;
  RowLabels labels;

  int64_t size() const { return rows.size(); }
  void keep_first(int64_t count);
  void append(const LabelledRows& from, int64_t begin, int64_t end);  // its rows [begin, end)
  uint64_t hash() const;                                              // of tokens, types and labels
};

struct LabelCounts {
  int64_t rows_read = 0, tokens = 0;
  int64_t rows_cut = 0;         // longer than allowed
  int64_t rows_unlabelled = 0;  // left out: no gold label
  int64_t rows_broken = 0;      // left out: GLUE's files have lines without all columns
};

// Rows whose labels are not numbers yet.
struct LabelledText {
  LabelledRows data;
  SeenLabels seen;
  std::vector<int32_t> label;  // by row: number in `seen`; empty when none were read
  // The same for rows whose label is a list.
  std::vector<std::vector<int32_t>> label_sets = {};
  LabelCounts counts;
};

// Reads all rows, at most `limit`. `columns.label` absent: rows to predict. Errors: those of the
// reader and of `encode`, H2110, H2123 an empty text or label.
Result<LabelledText> read_labelled(LabelReader& reader, const LabelColumnOptions& wanted,
                                   const EncodeTexts& encode,
                                   int64_t limit = std::numeric_limits<int64_t>::max());

// Numbers for labels; rows without one are left out and counted. Errors: H2121, H2113 when no row
// is left.
Status number_labels(LabelledText& text, const LabelMap& map, const std::string& split);

// "2,490 rows -> 170,261 tokens, at most 128 each; 12 rows cut; 3 without label left out"
std::string describe(const LabelCounts& counts, int64_t rows, int64_t max_length);

}  // namespace hone
