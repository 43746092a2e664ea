// Writes the cells and tokens of rows as JSON for the page Data of hone ui. Long texts and long lists of tokens are
// cut.
#pragma once

#include <vector>

#include "base/core/json.h"
#include "learn/check/check_rows.h"
#include "learn/data/formats/rows.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// The value of a cell, complete.
OrderedJson whole_cell_json(const Cell& cell);
// The value of a cell for people: a text that is longer than 20,000 bytes is cut; a longer list or object becomes a cut
// text.
OrderedJson shown_cell_json(const Cell& cell);
int64_t bytes_of_cell(const Cell& cell);  // approximate size of the value

// An object: name of a column -> complete value. In a column of `names`, a whole number becomes the name of its class.
OrderedJson named_row_json(const Row& row, const std::vector<std::string>& columns,
                           const LabelNames& names);

// The tokens of a row that a task made, as the object {"tokens": [{"id", "piece", "text", "special", "label"}],
// "count", "label", "source", "source_count"}. "piece" is the token's spelling in the vocabulary. "special" is true
// for a special token, else missing. "label" of a token is the text of its label; null if the loss ignores the token;
// missing if the row has no labels of tokens. "label" of the row is the label of a classifier; else it is missing.
// "source" has the tokens of a source text, with the same members; then "tokens" are those of the target. At most 1000
// tokens are listed; the counts are complete. `targets` is the tokenizer of labels and targets.
OrderedJson seen_row_json(const SampleRow& row, const Tokenizer& tokenizer,
                          const Tokenizer& targets);
// seen_row_json() for token ids from a file. `labels`: null if there are none. If `aligned`, there is a label for each
// id. Else `ids` are a source, and `labels` are the tokens of its target.
OrderedJson id_row_json(const std::vector<int64_t>& ids, const std::vector<int64_t>* labels,
                        bool aligned, const Tokenizer& tokenizer);

}  // namespace hone
