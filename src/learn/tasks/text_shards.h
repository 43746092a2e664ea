// Rows of several texts in prepared shards, for embeddings and rerankers. A shard has beside the ids of a row, which are
// those of its sequences one after the other:
//
//   lengths  tokens of each sequence
//   types    token types, of pairs
//   counts   texts in each column: 1, or those of a list
//   texts    the number of each text, column after column: equal texts of the split have one number
//   label_bits  the labels as the bits of floats
#pragma once

#include "learn/tasks/text_rows.h"

namespace hone {

// The rows of a split with the sequences that the task makes of them; `sequences` of each row follow one another in
// `encoded`, whose own rows are of any size.
RowSplit text_shards_of(const std::string& name, const TableOfTexts& table, const TextRows& encoded,
                        const std::vector<int64_t>& sequences);
// The table of a split with TableOfTexts::tokens; its texts are their numbers. At most `limit` rows; < 0: all.
// Errors: H2132.
Result<TableOfTexts> open_text_shards(const std::string& folder, const ShardManifest& made,
                                      const std::string& split, int64_t limit = -1);
// Its columns and number of labels, from the manifest; the other members are for messages alone. Errors: H2132.
Result<TableOfTexts> peek_text_shards(const std::string& folder, const std::string& split);

// The tokens of a prepared table: `texts` sequences a row, or with 0 each sequence a row of its own. H2132: a row has
// another number of sequences.
Result<TextRows> rows_of_tokens(const TableOfTexts& table, int64_t texts);
// H2132: the rows of a prepared table have another number of sequences than the task makes of them.
Error other_sequences(const TableOfTexts& table, int64_t found, int64_t wanted);
// Appends rows with as many sequences each.
void append_rows(TextRows& to, const TextRows& from);

}  // namespace hone
