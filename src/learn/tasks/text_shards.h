// Prepared shards of rows with several texts, for embeddings and rerankers. A shard has for each row the ids of its
// sequences, one after the other, and these lists:
//
//   lengths     number of tokens of each sequence
//   types       the token type of each token, if the sequences are pairs of texts; else empty
//   counts      number of texts in each column: 1, or the length of the list
//   texts       a number for each text, column after column; equal texts of the split have equal numbers
//   label_bits  the labels, each as the bits of a float
#pragma once

#include "learn/tasks/text_rows.h"

namespace hone {

// Makes the split `name` from a table and its encoded sequences. `encoded`: the sequences of all rows of the table, in
// order; its own division into rows is not used. `sequences`: number of sequences of each row of the table.
RowSplit text_shards_of(const std::string& name, const TableOfTexts& table, const TextRows& encoded,
                        const std::vector<int64_t>& sequences);
// Opens a split as a prepared table (TableOfTexts::is_prepared). Reads at most `limit` rows; below 0: all. `made`: the
// manifest of the folder. Errors: H2132 the shards do not have this form.
Result<TableOfTexts> open_text_shards(const std::string& folder, const ShardManifest& made,
                                      const std::string& split, int64_t limit = -1);
// Reads only the columns of a split and its number of labels of a row, from the manifest. Use only these members of the
// result; its rows are not those of the split. Errors: H2132 the shards do not have this form.
Result<TableOfTexts> peek_text_shards(const std::string& folder, const std::string& split);

// The tokens of a prepared table as rows of `texts` sequences each, without labels. If `texts` is 0, each sequence
// becomes a row. Errors: H2132 a row does not have `texts` sequences, or only some rows have token types.
Result<TextRows> rows_of_tokens(const TableOfTexts& table, int64_t texts);
// Returns H2132 for a prepared table that has `found` sequences, while the task makes `wanted` sequences of its texts.
Error other_sequences(const TableOfTexts& table, int64_t found, int64_t wanted);
// Appends the rows of `from` to `to`, without their labels. Both must have the same number of sequences a row.
void append_rows(TextRows& to, const TextRows& from);

}  // namespace hone
