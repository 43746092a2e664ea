// Writes the cells and tokens of data rows as JSON for the page "Data" of hone ui. Long texts and long lists of tokens
// are cut, except by the functions that say "complete".
#pragma once

#include <vector>

#include "base/core/json.h"
#include "learn/check/check_rows.h"
#include "learn/data/formats/rows.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// The value of a cell, complete.
OrderedJson whole_cell_json(const Cell& cell);
// The value of a cell for people: a text of more than 20,000 bytes is cut; a list or object of more than 20,000 bytes
// becomes JSON text, which is cut.
OrderedJson shown_cell_json(const Cell& cell);
int64_t bytes_of_cell(const Cell& cell);  // approximate size of the value

// An object: name of a column -> complete value. In a column that `names` lists, a whole number becomes the name of the
// class with this number.
OrderedJson named_row_json(const Row& row, const std::vector<std::string>& columns,
                           const LabelNames& names);

// The tokens of a row that a task made: {"tokens": [{"id", "piece", "text", "special", "label"}], "count", "label",
// "source", "source_count"}. Members of a token: "piece" is its spelling in the vocabulary. "special" is true for a
// special token, else missing. "label" is the text of its label; null if the loss ignores the token; missing if the
// row's tokens have no labels. Members of the row: "label" is the class if the task is a classifier, else missing.
// "source" is missing unless the row has a source text and a target; then it has the tokens of the source, and "tokens"
// has those of the target. Each list has at most 1000 tokens; "count" and "source_count" count all. `targets` is the
// tokenizer of labels and targets.
OrderedJson seen_row_json(const SampleRow& row, const Tokenizer& tokenizer,
                          const Tokenizer& targets);
// seen_row_json() for token ids from a file. `labels`: null if there are none. If `aligned` is true, `labels` has one
// label for each id. Else `ids` are the tokens of a source, and `labels` are the tokens of its target.
OrderedJson id_row_json(const std::vector<int64_t>& ids, const std::vector<int64_t>* labels,
                        bool aligned, const Tokenizer& tokenizer);

}  // namespace hone
