// Turns JSON values into rows, for the formats json and jsonl.
#pragma once

#include "learn/data/formats/rows.h"

namespace hone {

// Turns the text of one JSON value into the cells of `row`. An object has one cell for each key: keys that are not in
// `columns` are appended to it, and columns without a key get null. A string becomes the cell of the column `text`.
// NaN, Infinity and -Infinity are accepted as numbers, since Python writes them. `line` and `column` are the 1-based
// place of the value in `file`, for messages.
// Errors: H2107 the text is not JSON, or the value is neither an object nor a string; H2108 it is not UTF-8.
Status json_row(std::string_view value, const std::string& file, int64_t line, int64_t column,
                std::vector<std::string>& columns, Row& row);

// Skips white space, consumes one JSON value and appends its text to `to`. Checks only that brackets and quotes are
// closed. Returns false if only white space was left. Errors: H2107 the input ends inside the value; those of `in`.
Result<bool> take_json_value(ByteReader& in, std::string& to);

// Skips white space. Returns the next byte, not consumed, or ByteReader::kEnd.
int skip_json_space(ByteReader& in);

// Returns a reader of the rows from the current place of `in`. Each line is one value. But if the first value extends
// over several lines, values may begin and end anywhere, and line breaks are only white space. Errors: those of
// json_row for the first row.
Result<std::unique_ptr<RowReader>> open_json_values(ByteReader in);

}  // namespace hone
