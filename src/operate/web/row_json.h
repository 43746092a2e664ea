// Cells and tokens of rows as JSON for the page Data; long ones are cut.
#pragma once

#include <vector>

#include "base/core/json.h"
#include "learn/check/check_rows.h"
#include "learn/data/formats/rows.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// The value as it is in the file.
OrderedJson whole_cell_json(const Cell& cell);
// The same for people: texts longer than 20,000 bytes are cut, lists and objects become texts if they
// are longer.
OrderedJson shown_cell_json(const Cell& cell);
int64_t bytes_of_cell(const Cell& cell);

// Cells by column. A whole number of a column with classes becomes the class's name.
OrderedJson named_row_json(const Row& row, const std::vector<std::string>& columns,
                           const LabelNames& names);

// The tokens of a row that a task made: {"tokens": [{"id", "piece", "text", "special", "label"}],
// "count", "source", "label"}. `label` of a token: its text, null if no loss counts it; missing if the
// next token is its label. `targets`: the tokenizer of labels and of tokens after `source`.
OrderedJson seen_row_json(const SampleRow& row, const Tokenizer& tokenizer,
                          const Tokenizer& targets);
// The tokens of ids that a file holds. `labels` (null: none) are those of the tokens if they are
// `aligned`, else the tokens of a target.
OrderedJson id_row_json(const std::vector<int64_t>& ids, const std::vector<int64_t>* labels,
                        bool aligned, const Tokenizer& tokenizer);

}  // namespace hone
